//! Groups, subshells, `if` and coprocesses.

use super::cursor::{ParseResult, Parser};
use super::list::Stop;
use super::reserved::{is_reserved, starts_name};
use crate::shell::{CommandKind, If, PieceKind};

impl Parser<'_> {
    /// `( … )` or `(( … ))`.
    pub(super) fn parenthesis(&mut self) -> ParseResult<CommandKind> {
        let start = self.skip_continuations();
        if self.looking_at("((") {
            self.bash_only("`((`", start)?;
            self.eat("((");
            return self.double_paren(start).map(CommandKind::Arithmetic);
        }
        self.bump();
        let script = self.body(Stop::Paren)?;
        self.bump();
        Ok(CommandKind::Subshell(script))
    }

    /// Behind `{`.
    pub(super) fn group(&mut self) -> ParseResult<CommandKind> {
        let script = self.body(Stop::Reserved(&["}"]))?;
        self.expect_reserved("}")?;
        Ok(CommandKind::Group(script))
    }

    /// Behind `if`.
    pub(super) fn if_command(&mut self) -> ParseResult<CommandKind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.body(Stop::Reserved(&["then"]))?;
            self.expect_reserved("then")?;
            let body = self.body(Stop::Reserved(&["elif", "else", "fi"]))?;
            arms.push((condition, body));
            if !self.at_reserved("elif") {
                break;
            }
            self.expect_reserved("elif")?;
        }
        let mut otherwise = None;
        if self.at_reserved("else") {
            self.expect_reserved("else")?;
            otherwise = Some(self.body(Stop::Reserved(&["fi"]))?);
        }
        self.expect_reserved("fi")?;
        Ok(CommandKind::If(If { arms, otherwise }))
    }

    /// Behind `coproc`.
    pub(super) fn coprocess(&mut self) -> ParseResult<CommandKind> {
        self.skip_blanks();
        let start = self.skip_continuations();
        if self.reserved().is_some() || self.peek() == Some(b'(') {
            return Ok(CommandKind::Coprocess(Box::new(self.command()?)));
        }
        if self.eat_coprocess_name() || self.at_reserved("{") || self.peek() == Some(b'(') {
            return Ok(CommandKind::Coprocess(Box::new(self.command()?)));
        }
        // Bash prints what it read in `$(…)` and reads it again: `coproc cmd` comes back as
        // `coproc COPROC cmd`, which runs `COPROC`.
        if self.state.substitutions > 0 {
            return self.refuse("a coprocess without braces inside a substitution", start);
        }
        let command = self.simple_command()?;
        // `coproc word if …` has an unexpected name, and a compound command after it.
        if let CommandKind::Simple(simple) = &command.kind
            && simple.words.get(1).is_some_and(|word| word.bare().is_some_and(is_reserved))
        {
            return self.refuse("a coprocess whose second word is a reserved word", start);
        }
        if matches!(command.kind, CommandKind::Function(_)) {
            return self.refuse("a function definition as a coprocess", start);
        }
        // Reserved words count in `coproc declare x=(…)`, and an error there only discards the
        // line.
        if let CommandKind::Simple(simple) = &command.kind
            && simple
                .words
                .iter()
                .flat_map(|word| &word.pieces)
                .any(|piece| matches!(piece.kind, PieceKind::Array(_)))
        {
            return self.refuse("an array in a coprocess", start);
        }
        Ok(CommandKind::Coprocess(Box::new(command)))
    }

    /// `NAME` before `{` or `(`; consumes nothing otherwise.
    fn eat_coprocess_name(&mut self) -> bool {
        let start = self.at;
        if !self.peek().is_some_and(starts_name) {
            return false;
        }
        let name = self.name();
        self.skip_blanks();
        if self.at > start + name.len() && (self.at_reserved("{") || self.looking_at("(")) {
            return true;
        }
        self.at = start;
        false
    }
}
