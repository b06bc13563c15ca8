//! Assignments before a command, and arrays.

use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::reserved::{ends_word, starts_name};
use super::word_builder::WordBuilder;
use super::words::Context;
use crate::shell::{Assignment, AssignmentOperator, Element, PieceKind, Quoting, Value};

impl Parser<'_> {
    /// Parses an assignment, if one comes next; consumes nothing otherwise.
    pub(super) fn assignment(&mut self) -> ParseResult<Option<Assignment>> {
        let start = self.skip_continuations();
        if !self.peek().is_some_and(starts_name) {
            return Ok(None);
        }
        let name = self.name();
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            subscript = Some(self.subscript(Frame::Bare, start)?);
        }
        let operator = match self.operator(start)? {
            Some(operator) => operator,
            // Bash reads on to the `]` here, blanks included, whatever follows.
            None if subscript.is_some() => {
                return self.refuse("a subscript that nothing is assigned to", start);
            }
            None => {
                self.at = start;
                return Ok(None);
            }
        };
        let value = if self.peek() == Some(b'(') {
            if subscript.is_some() {
                return self.refuse("an array assigned to an element of an array", start);
            }
            self.bash_only("an array", start)?;
            Value::Array(self.nested(Self::elements)?)
        } else {
            let value_start = self.skip_continuations();
            Value::Scalar(self.word_or_nothing(Context::VALUE, value_start)?)
        };
        Ok(Some(Assignment { span: self.span(start), name, subscript, operator, value }))
    }

    /// `=` or `+=`, stepped over.
    fn operator(&mut self, start: usize) -> ParseResult<Option<AssignmentOperator>> {
        if self.eat("=") {
            return Ok(Some(AssignmentOperator::Set));
        }
        if self.looking_at("+=") {
            self.bash_only("`+=`", start)?;
            self.eat("+=");
            return Ok(Some(AssignmentOperator::Append));
        }
        Ok(None)
    }

    /// At the `(` behind `name=` in an argument of `declare` and its like.
    pub(super) fn array_piece(&mut self, parts: &mut WordBuilder) -> ParseResult<()> {
        let start = self.skip_continuations();
        let elements = self.nested(Self::elements)?;
        parts.push(self, start, Quoting::Bare, PieceKind::Array(elements));
        Ok(())
    }

    /// At `(`: the elements up to and over `)`.
    fn elements(&mut self) -> ParseResult<Vec<Element>> {
        let start = self.skip_continuations();
        self.bump();
        self.state.arrays += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b')') => break,
                Some(b'\n') if self.pending.is_empty() && self.waiting == 0 => {
                    self.bump();
                }
                Some(b'\n') => return self.refuse("an array across the beginning of a here-document", start),
                Some(b'[') => elements.push(self.keyed_element(start)?),
                _ => elements.push(Element { subscript: None, value: self.word(Context::ARGUMENT)? }),
            }
        }
        self.bump();
        self.state.arrays -= 1;
        // Bash continues with the same word, and then parses the whole as something else.
        if !ends_word(self.peek()) || self.peek() == Some(b'(') || self.at_process() {
            return self.refuse("an array with something glued to it", start);
        }
        // Inside `$(…)` bash 5.2 does not see backslashes in an array: `\'` opens a string there.
        let text = self.source.text().get(start..self.at).unwrap_or_default();
        if self.parens > 0 && text.contains('\\') {
            return self.refuse("a backslash in an array inside a substitution", start);
        }
        Ok(elements)
    }

    /// Up to version 5.1, bash guesses the end of a substitution, and a `)` or a line break
    /// misleads it. In an array the error only discards the line, and bash continues with the next
    /// one.
    pub(super) fn refuse_in_array(&self, what: &str, start: usize) -> ParseResult<()> {
        if self.state.arrays == 0 { Ok(()) } else { self.refuse(format!("{what} inside of an array"), start) }
    }

    fn keyed_element(&mut self, start: usize) -> ParseResult<Element> {
        let subscript = self.subscript(Frame::Bare, start)?;
        if self.operator(start)?.is_none() {
            return self.refuse("an element of an array that begins with `[`", start);
        }
        let value_start = self.skip_continuations();
        let value = self.word_or_nothing(Context::VALUE, value_start)?;
        Ok(Element { subscript: Some(subscript), value })
    }
}
