//! A script that a shell reads from its standard input, where a command of it may read lines, too.
//!
//! The shell goes on with whatever is left. So every line must begin a command: a line of a
//! here-document could become one.

use super::interpreter::{Input, Interpreter};
use super::options::NamedCommand;
use super::programs::has_word;
use crate::shell::ast::{Command, Script};
use crate::shell::visitor::Visitor;
use std::collections::BTreeSet;

/// Words that no command can begin with.
const RESERVED: &str = "do done elif else esac fi then }";

struct Starts(BTreeSet<usize>);

impl Visitor for Starts {
    fn command(&mut self, command: &Command) {
        self.0.insert(command.span.start);
    }
}

impl Interpreter<'_> {
    /// Judges whether a script would be the same without some of its lines.
    pub(super) fn judge_lines(&mut self, text: &str, script: &Script) {
        let mut starts = Starts(BTreeSet::new());
        script.visit(&mut starts);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let code = line.trim_start_matches([' ', '\t', '!']);
            let start = at + line.len() - code.len();
            at += line.len();
            let word = code.split([' ', '\t', ';', '\n']).next().unwrap_or_default();
            let harmless = code.trim().is_empty() || code.starts_with(['#', '&', '|', ')', ';']);
            if !harmless && !has_word(RESERVED, word) && !starts.0.contains(&start) {
                return self.report_input(line.trim_end());
            }
        }
    }

    /// Judges whether an interactive shell would change a line by its history: `!!`, `!-2:s/a/b/`,
    /// `^a^b^`.
    pub(super) fn judge_history(&mut self, text: &str) {
        let plain = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '=']);
        let expands = |line: &&str| {
            line.starts_with('^') || line.match_indices('!').any(|(at, _)| !plain(&line[at + 1..]))
        };
        if let Some(line) = text.lines().find(expands) {
            self.report_not_understood("history expansion", line);
        }
    }

    /// Judges whether a command reads a part of a line of the script that its shell reads.
    pub(super) fn judge_partial_read(&mut self, call: &NamedCommand<'_>) {
        let reads_part = match call.name {
            "read" => call.has("a d i n N p t u", "d n N"),
            "mapfile" | "readarray" => call.has("d n O s u C c", "d"),
            "head" => call.has("n c lines bytes", "c bytes"),
            "od" => call.has("N j w t A S", "N read-bytes"),
            "dd" => !call.args.iter().any(|arg| arg.as_str().starts_with("if=")),
            _ => false,
        };
        if self.script_is_input && reads_part && matches!(call.input, Input::Inherited) {
            self.report_input(&call.words());
        }
    }

    fn report_input(&mut self, words: &str) {
        self.report_computed(
            "unknown-code",
            "what a shell makes of its input, of which another command may read a part,",
            words,
        );
    }
}
