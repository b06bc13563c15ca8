//! Function definitions, in all their spellings.

use super::cursor::{ParseResult, Parser};
use super::words::Context;
use crate::shell::{Command, CommandKind, Function, Word};

impl Parser<'_> {
    /// Behind `function`.
    pub(super) fn function_keyword(&mut self, start: usize) -> ParseResult<CommandKind> {
        self.skip_blanks();
        let name = self.word(Context::ARGUMENT)?;
        self.skip_blanks();
        // `function f (cmd)` has a subshell for its body, `function f () …` has none of that.
        if self.peek() == Some(b'(') {
            let open = self.at;
            self.bump();
            self.skip_blanks();
            if self.peek() == Some(b')') {
                self.bump();
            } else {
                self.at = open;
            }
        }
        self.function_body(name, start)
    }

    /// At the `(` of `name ()`.
    pub(super) fn function_parens(&mut self, name: Word, start: usize) -> ParseResult<CommandKind> {
        self.bump();
        self.skip_blanks();
        if self.peek() != Some(b')') {
            return self.unexpected("behind a word");
        }
        self.bump();
        self.nested(|parser| parser.function_body(name, start))
    }

    fn function_body(&mut self, name: Word, start: usize) -> ParseResult<CommandKind> {
        let Some(text) = name.bare().map(str::to_owned) else {
            return self.refuse("a function whose name is not plain text", start);
        };
        self.skip_newlines()?;
        let body_start = self.skip_continuations();
        let Some(kind) = self.compound()? else {
            return self.unexpected("where the body of a function should be");
        };
        if matches!(kind, CommandKind::Function(_) | CommandKind::Coprocess(_)) {
            return self.refuse("a definition as the body of a function", start);
        }
        let body: Command = self.with_redirections(kind, body_start)?;
        let body = Box::new(body);
        Ok(CommandKind::Function(Function { name: text, body }))
    }
}
