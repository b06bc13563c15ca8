//! Lines for PowerShell, in which `cmd` lines are written too: the documented Windows patterns,
//! rules by name, and paths.
//!
//! There is no parser. A line is split into plain words; what is not made of such words is not
//! understood, and `strict` allows only commands and options from a list.

mod listed;
mod paths;
mod programs;
mod words;

use super::finding::{Finding, Remedy};
use super::interpreter::{Input, Interpreter};
use super::options::NamedCommand;
use super::partial_word::PartialWord;
use super::programs::has_word;
use crate::shell::MAX_TEXT_LEN;
use listed::Takes;
use paths::Places;
use regex::{RegexSet, RegexSetBuilder};
use std::sync::OnceLock;
use words::Words;

/// Ways to hide what a line says, matched against its lower-cased text.
const PATTERNS: &[&str] = &[
    r"\[(?:\w+\.)*text\.encoding\]",
    r"\s[-/]e(?:c|n|nc|nco|ncod|ncode|ncoded[a-z]*)?(?:$|[\s:])",
    r"\.getstring\s*\(\s*\[byte\[\]",
    r"frombase64string\s*\(",
    r"\$[a-z_]\w*\s*=\s*\[byte\[\]",
    r"\\u[0-9a-f]{4}",
];

impl Interpreter<'_> {
    /// Judges a line for PowerShell.
    pub(super) fn powershell(&mut self, text: &str) {
        let Some(mut places) = Places::of(self.context) else {
            return self.report_not_understood("the workspace has no Windows path", text);
        };
        if let Some(pattern) = hidden(text) {
            self.report_danger(
                &format!("deny_patterns:{pattern}"),
                "a documented pattern matches the text",
                text,
            );
        }
        if text.len() > MAX_TEXT_LEN {
            return self.report_not_understood("the line is too long", "");
        }
        let commands = match words::split(text) {
            Ok(commands) => commands,
            Err(what) => return self.report_not_understood(what, text),
        };
        let mut before = String::new();
        for command in &commands {
            if !self.count_step() {
                return;
            }
            let Some((first, args)) = command.words.split_first() else {
                self.report_not_understood("a redirection without a command", text);
                continue;
            };
            let written = first.to_ascii_lowercase();
            self.check_command(first, args, command);
            if command.is_piped && !listed::takes_text_alone(&written, args, &before) {
                let why = "it may take paths from the pipeline";
                self.report_outside(&command.text, "workspace", why, Remedy::Ask);
            }
            self.check_paths(&written, args, command, &places);
            if has_word(programs::MOVES, &programs::base_name(first)) {
                self.change_directory(args, command, &mut places);
            }
            before = written;
        }
    }

    /// The rules about names and options, and the configured patterns.
    fn check_command(&mut self, first: &str, args: &[String], command: &Words) {
        let name = programs::base_name(first);
        let normal = std::iter::once(&name).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ");
        for text in [&command.text, &command.text.to_lowercase(), &normal, &normal.to_lowercase()] {
            if let Some(pattern) = self.guard.custom_denied(text) {
                self.report(Finding::custom(pattern, &command.text));
            }
        }
        if !programs::is_name(first) {
            return self.report_not_understood("its first word is not the name of a command", &command.text);
        }
        self.lifted = self.guard.allows(&command.text);
        if let Some((rule, why)) = programs::danger(&name, args) {
            self.report_danger(rule, why, &command.text);
        } else if programs::runs_inline_code(&name, args) {
            self.report_not_understood("code that is no file", &command.text);
        } else if listed::find(&name)
            .is_some_and(|listed| listed.takes == Takes::Writes && !listed.knows(args))
        {
            let why = "a cmdlet that changes files, with a parameter that is on no list";
            self.report_danger("unlisted-parameter", why, &command.text);
        } else if !self.guard.is_smart() && !listed::is_plain(&first.to_ascii_lowercase(), args) {
            let why = "`strict` allows commands and options from a list alone on Windows";
            self.report_danger_with("unlisted-program", why, &command.text, Remedy::Smart);
        }
        let words: Vec<PartialWord> = args.iter().map(|word| PartialWord::text(word.as_str())).collect();
        let call = NamedCommand { name: &name, args: &words, input: &Input::Inherited, argv: &words };
        self.check_rules(&call, &Remedy::Ask);
        self.lifted = false;
    }
}

/// The first pattern that matches.
fn hidden(text: &str) -> Option<&'static str> {
    static SET: OnceLock<Option<RegexSet>> = OnceLock::new();
    match SET.get_or_init(|| RegexSetBuilder::new(PATTERNS).build().ok()) {
        Some(set) => set.matches(&text.to_lowercase()).iter().next().and_then(|at| PATTERNS.get(at).copied()),
        // The patterns are constants; without them everything matches.
        None => PATTERNS.first().copied(),
    }
}
