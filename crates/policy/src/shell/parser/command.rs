//! One command: decides by the next token which kind begins.

use super::cursor::{ParseResult, Parser};
use super::entry::MAX_COMMANDS;
use super::reserved::{is_bash_only, is_closing};
use crate::shell::{Command, CommandKind};

impl Parser<'_> {
    pub(super) fn command(&mut self) -> ParseResult<Command> {
        self.skip_blanks();
        let start = self.skip_continuations();
        self.count_one(&self.state.size.commands, MAX_COMMANDS, "commands")?;
        match self.compound()? {
            Some(kind) => self.with_redirections(kind, start),
            None => self.simple_command(),
        }
    }

    /// Reads the compound command that begins here, if one does.
    pub(super) fn compound(&mut self) -> ParseResult<Option<CommandKind>> {
        let start = self.skip_continuations();
        if self.peek() == Some(b'(') {
            return self.nested(Self::parenthesis).map(Some);
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
        self.nested(|parser| {
            parser.eat(word);
            match word {
                "if" => parser.if_command(),
                "while" | "until" => parser.loop_command(),
                "for" | "select" => parser.for_command(word),
                "case" => parser.case_command(),
                "function" => parser.function_keyword(start),
                "[[" => parser.conditional(),
                "coproc" => parser.coprocess(),
                _ => parser.group(),
            }
        })
        .map(Some)
    }

    /// Adds the redirections that follow a compound command.
    pub(super) fn with_redirections(&mut self, kind: CommandKind, start: usize) -> ParseResult<Command> {
        let mut end = self.at;
        let mut redirections = Vec::new();
        // The body of a function or a coprocess has consumed its redirections already.
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
