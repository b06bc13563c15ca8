//! Loops.

use super::cursor::{ParseResult, Parser};
use super::list::Stop;
use super::reserved::{continues_name, ends_word, starts_name};
use super::words::Context;
use crate::shell::{ArithmeticFor, CommandKind, For, Loop, Script, Word};

impl Parser<'_> {
    /// Behind `while` or `until`.
    pub(super) fn loop_command(&mut self) -> ParseResult<CommandKind> {
        let condition = self.body(Stop::Reserved(&["do"]))?;
        let body = self.do_group()?;
        Ok(CommandKind::Loop(Loop { condition, body }))
    }

    /// Behind `for` or `select`.
    pub(super) fn for_command(&mut self, word: &str) -> ParseResult<CommandKind> {
        self.skip_blanks();
        let start = self.skip_continuations();
        if self.looking_at("((") && word == "for" {
            self.bash_only("`for ((`", start)?;
            self.eat("((");
            let header = self.double_paren(start)?;
            self.loop_separator()?;
            let body = self.loop_body()?;
            return Ok(CommandKind::ArithmeticFor(ArithmeticFor { header, body }));
        }
        if !self.peek().is_some_and(starts_name) {
            return self.unexpected(&format!("where `{word}` wants the name of a variable"));
        }
        let name = self.name();
        if !ends_word(self.peek()) {
            return self.unexpected(&format!("in the name of the variable of `{word}`"));
        }
        let words = self.for_words()?;
        let body = self.loop_body()?;
        Ok(CommandKind::For(For { name, words, body }))
    }

    fn for_words(&mut self) -> ParseResult<Option<Vec<Word>>> {
        self.skip_blanks();
        if self.peek() == Some(b';') {
            self.loop_separator()?;
            return Ok(None);
        }
        self.skip_newlines()?;
        if !self.at_reserved("in") {
            return Ok(None);
        }
        self.expect_reserved("in")?;
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if matches!(self.peek(), Some(b';' | b'\n')) {
                break;
            }
            words.push(self.word(Context::ARGUMENT)?);
        }
        self.loop_separator()?;
        Ok(Some(words))
    }

    /// At most one `;`, and any number of newlines.
    fn loop_separator(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        if self.peek() == Some(b';') {
            self.bump();
        }
        self.skip_newlines()
    }

    /// `do … done`, or in bash `{ …; }`.
    fn loop_body(&mut self) -> ParseResult<Script> {
        let start = self.skip_continuations();
        if !self.at_reserved("{") {
            return self.do_group();
        }
        self.bash_only("a loop with `{` instead of `do`", start)?;
        self.expect_reserved("{")?;
        let body = self.body(Stop::Reserved(&["}"]))?;
        self.expect_reserved("}")?;
        Ok(body)
    }

    fn do_group(&mut self) -> ParseResult<Script> {
        self.expect_reserved("do")?;
        let body = self.body(Stop::Reserved(&["done"]))?;
        self.expect_reserved("done")?;
        Ok(body)
    }

    /// Consumes letters, digits and underscores.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek().filter(|byte| continues_name(*byte)) {
            self.bump();
            name.push(char::from(byte));
        }
        name
    }
}
