//! One command: which kind begins here.
//!
//! Invariant: the kind is decided by what stands here, before any of it is read.

use super::cursor::{Read, Reader};
use super::entry::MOST_COMMANDS;
use super::reserved::{is_bash_only, is_closing};
use crate::shell::{Command, CommandKind};

impl Reader<'_> {
    pub(super) fn command(&mut self) -> Read<Command> {
        self.skip_blanks();
        let start = self.settle();
        self.one_more(&self.state.size.commands, MOST_COMMANDS, "commands")?;
        match self.compound()? {
            Some(kind) => self.with_redirections(kind, start),
            None => self.simple_command(),
        }
    }

    /// Reads the compound command that begins here, if one does.
    pub(super) fn compound(&mut self) -> Read<Option<CommandKind>> {
        let start = self.settle();
        if self.peek() == Some(b'(') {
            return self.deeper(Self::parenthesis).map(Some);
        }
        let Some(word) = self.reserved() else { return Ok(None) };
        if word == "time" {
            return Ok(None);
        }
        if is_closing(word) || word == "!" {
            return self.unexpected("where a command should be");
        }
        if is_bash_only(word) {
            self.bash_only(&format!("`{word}`"), start)?;
        }
        self.deeper(|reader| {
            reader.eat(word);
            match word {
                "if" => reader.if_command(),
                "while" | "until" => reader.loop_command(word),
                "for" | "select" => reader.for_command(word),
                "case" => reader.case_command(),
                "function" => reader.function_keyword(start),
                "[[" => reader.conditional(),
                "coproc" => reader.coprocess(),
                _ => reader.group(),
            }
        })
        .map(Some)
    }

    /// Adds the redirections that follow a compound command.
    pub(super) fn with_redirections(&mut self, kind: CommandKind, start: usize) -> Read<Command> {
        let mut end = self.at;
        let mut redirections = Vec::new();
        // What a function or a coprocess is made of has taken its redirections already.
        if !matches!(kind, CommandKind::Function(_) | CommandKind::Coprocess(_)) {
            loop {
                self.skip_blanks();
                let Some(redirection) = self.redirection()? else { break };
                redirections.push(redirection);
                end = self.at;
            }
        }
        Ok(Command { span: self.span_between(start, end), kind, redirections })
    }
}
