//! Redirections.

use super::cursor::{ParseResult, Parser};
use super::heredoc::Tabs;
use super::reserved::is_name;
use super::words::Context;
use crate::shell::{Descriptor, Duplicate, FileMode, Redirection, RedirectionKind, Word};

/// The operators, longest first.
const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "&>", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"];

/// Operators that only bash has; dash reads `&>` as `&` and `>`.
const BASH_ONLY: [&str; 3] = ["&>>", "&>", "<<<"];

/// Enough digits for any descriptor.
const MAX_DESCRIPTOR_DIGITS: usize = 9;

impl Parser<'_> {
    /// Parses a redirection, if one comes next.
    pub(super) fn redirection(&mut self) -> ParseResult<Option<Redirection>> {
        let start = self.skip_continuations();
        let descriptor = self.descriptor()?;
        if descriptor.is_none() && self.at_process() {
            return Ok(None);
        }
        let operator_start = self.skip_continuations();
        let Some(operator) = OPERATORS.into_iter().find(|operator| self.looking_at(operator)) else {
            return Ok(None);
        };
        if BASH_ONLY.contains(&operator) {
            self.bash_only(&format!("`{operator}`"), operator_start)?;
        }
        self.eat(operator);
        self.skip_blanks();
        let kind = self.redirection_kind(operator)?;
        Ok(Some(Redirection { span: self.span(start), descriptor, kind }))
    }

    fn redirection_kind(&mut self, operator: &str) -> ParseResult<RedirectionKind> {
        let mode = match operator {
            "<<" => return self.here_document(Tabs::Kept),
            "<<-" => return self.here_document(Tabs::Removed),
            "<<<" => return Ok(RedirectionKind::HereString(self.word(Context::SUBJECT)?)),
            "<&" => return self.duplicate(Duplicate::Input),
            ">&" => return self.duplicate(Duplicate::Output),
            "<" => FileMode::Read,
            ">" => FileMode::Write,
            ">|" => FileMode::Clobber,
            ">>" => FileMode::Append,
            "<>" => FileMode::ReadWrite,
            "&>" => FileMode::WriteBoth,
            _ => FileMode::AppendBoth,
        };
        Ok(RedirectionKind::File(mode, self.word(Context::TARGET)?))
    }

    fn duplicate(&mut self, way: Duplicate) -> ParseResult<RedirectionKind> {
        let start = self.skip_continuations();
        let word = self.word(Context::TARGET)?;
        // `>&file` opens the file in bash, and is an error or worse elsewhere.
        if !self.is_bash() && !is_descriptor_word(&word) {
            return self.refuse("a copied descriptor that is neither a number nor `-`", start);
        }
        Ok(RedirectionKind::Duplicate(way, word))
    }

    /// `2` or `{name}` directly before `<` or `>`; consumes nothing otherwise.
    fn descriptor(&mut self) -> ParseResult<Option<Descriptor>> {
        let start = self.at;
        let found = match self.peek() {
            Some(b'0'..=b'9') => self.descriptor_number(start)?,
            Some(b'{') => self.descriptor_variable(start)?,
            _ => None,
        };
        if found.is_none() {
            self.at = start;
        }
        Ok(found)
    }

    fn descriptor_number(&mut self, start: usize) -> ParseResult<Option<Descriptor>> {
        let mut digits = String::new();
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            self.bump();
            digits.push(char::from(digit));
        }
        if !self.at_redirection() {
            return Ok(None);
        }
        if !self.is_bash() && digits.len() > 1 {
            return self.refuse("a descriptor of more than one digit, which not every `sh` has", start);
        }
        match digits.parse() {
            Ok(number) if digits.len() <= MAX_DESCRIPTOR_DIGITS => Ok(Some(Descriptor::Number(number))),
            _ => self.refuse("a descriptor that no kernel has", start),
        }
    }

    fn descriptor_variable(&mut self, start: usize) -> ParseResult<Option<Descriptor>> {
        self.bump();
        let name = self.name();
        if self.peek() == Some(b'[') && !name.is_empty() {
            // `{a[i]}>` evaluates the subscript. It is not supported.
            return self.refuse("an array element in braces at the beginning of a word", start);
        }
        if self.peek() != Some(b'}') {
            return Ok(None);
        }
        self.bump();
        if !is_name(&name) || !self.at_redirection() {
            return Ok(None);
        }
        self.bash_only("`{name}` before a redirection", start)?;
        Ok(Some(Descriptor::Variable(name)))
    }

    /// `<` or `>` that is not a process substitution.
    fn at_redirection(&self) -> bool {
        matches!(self.peek(), Some(b'<' | b'>')) && !self.at_process()
    }

    /// `<(` or `>(`
    pub(super) fn at_process(&self) -> bool {
        self.is_bash() && matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(')
    }
}

fn is_descriptor_word(word: &Word) -> bool {
    match word.literal() {
        Some(text) => text == "-" || (text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit())),
        None => false,
    }
}
