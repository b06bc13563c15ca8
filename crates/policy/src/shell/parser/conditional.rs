//! `[[ … ]]`.

use super::brackets::Pair;
use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::reserved::ends_word;
use super::word_builder::WordBuilder;
use super::words::Context;
use crate::shell::{CommandKind, Piece, PieceKind, Quoting, Span, TestItem, Word};

/// Operators whose operands are arithmetic expressions.
const ARITHMETIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Operators whose operand is the name of a variable, perhaps with a subscript.
const NAMING: [&str; 2] = ["-v", "-R"];

impl Parser<'_> {
    /// Behind `[[`.
    pub(super) fn conditional(&mut self) -> ParseResult<CommandKind> {
        let start = self.skip_continuations();
        let mut items = Vec::new();
        loop {
            self.test_blanks(start)?;
            if self.at_reserved("]]") {
                break;
            }
            let item = self.test_item(items.last(), start)?;
            items.push(item);
        }
        if items.is_empty() {
            return self.unexpected("in `[[`");
        }
        self.expect_reserved("]]")?;
        self.refuse_hidden_expansion(&items)?;
        Ok(CommandKind::Test(items))
    }

    fn test_blanks(&mut self, start: usize) -> ParseResult<()> {
        self.skip_blanks();
        while self.peek() == Some(b'\n') {
            if !self.pending.is_empty() || self.waiting > 0 {
                return self.refuse("`[[` across the beginning of a here-document", start);
            }
            self.bump();
            self.skip_blanks();
        }
        Ok(())
    }

    fn test_item(&mut self, before: Option<&TestItem>, start: usize) -> ParseResult<TestItem> {
        let at = self.skip_continuations();
        let operator = |item: Option<&TestItem>| match item {
            Some(TestItem::Operator(text, _)) => Some(text.clone()),
            _ => None,
        };
        let before = operator(before);
        if before.as_deref() == Some("=~") {
            return self.regular_expression(start).map(TestItem::Operand);
        }
        if !self.at_process() {
            for text in ["&&", "||", "(", ")", "<", ">"] {
                if self.eat(text) {
                    return Ok(TestItem::Operator(text.to_owned(), self.span(at)));
                }
            }
        }
        let compares = matches!(before.as_deref(), Some("==" | "=" | "!="));
        if self.looking_at("!(") && !compares {
            return self.refuse("`!(` in `[[`; put a space between them", at);
        }
        let word = self.word(if compares { Context::COMPARED } else { Context::PATTERN })?;
        match word.bare() {
            Some(text) if is_operator(text) => Ok(TestItem::Operator(text.to_owned(), word.span)),
            _ => Ok(TestItem::Operand(word)),
        }
    }

    /// The right side of `=~`: parentheses and bars belong to it, and blanks inside parentheses.
    fn regular_expression(&mut self, start: usize) -> ParseResult<Word> {
        let from = self.skip_continuations();
        let mut parts = WordBuilder::new(Quoting::Bare);
        let mut open = 0_usize;
        loop {
            let at = self.skip_continuations();
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') if open == 0 => break,
                Some(b')') => open -= 1,
                Some(b'|') => {}
                None | Some(b'<' | b'>' | b';' | b'&' | b'\n') if open > 0 => {
                    return self.refuse("a regular expression that is not plain", start);
                }
                next if open == 0 && ends_word(next) => break,
                _ => {
                    if self.quoted_or_expanded(&mut parts, Frame::Bare)? {
                        if open > 0 {
                            self.balanced(Pair::Parens, at)?;
                        }
                        continue;
                    }
                }
            }
            parts.text(at, self.bump_char());
        }
        let pieces = parts.pieces(self)?;
        if pieces.is_empty() {
            return self.unexpected("where a regular expression should be");
        }
        Ok(Word { span: self.span(from), pieces })
    }

    /// `[[ 'a[$(cmd)]' -eq 1 ]]` runs `cmd`: the operand is evaluated after quote removal.
    fn refuse_hidden_expansion(&self, items: &[TestItem]) -> ParseResult<()> {
        for (index, item) in items.iter().enumerate() {
            let TestItem::Operator(text, span) = item else { continue };
            let before = index.checked_sub(1).filter(|_| ARITHMETIC.contains(&text.as_str()));
            let after =
                (ARITHMETIC.contains(&text.as_str()) || NAMING.contains(&text.as_str())).then_some(index + 1);
            for operand in [before, after].into_iter().flatten() {
                if let Some(TestItem::Operand(word)) = items.get(operand)
                    && word.pieces.iter().any(hides_expansion)
                {
                    return hidden(*span);
                }
            }
        }
        Ok(())
    }
}

fn hidden(span: Span) -> ParseResult<()> {
    let what = "a quoted expansion beside an operator that evaluates it".to_owned();
    Err(crate::shell::NotUnderstood { what, span })
}

fn hides_expansion(piece: &Piece) -> bool {
    matches!(&piece.kind, PieceKind::Literal(text) if text.contains(['$', '`']))
}

fn is_operator(text: &str) -> bool {
    matches!(text, "!" | "==" | "=" | "!=" | "=~")
        || (text.len() >= 2
            && text.starts_with('-')
            && text.bytes().skip(1).all(|byte| byte.is_ascii_alphabetic()))
}
