//! `$…`: what is expanded, inside and outside of quotes.
//!
//! Invariant: whatever a `$` begins is read to its own end before anything behind it is looked at.

use super::cursor::{Read, Reader};
use super::list::Stop;
use super::reserved::{ends_word, starts_name};
use super::word_builder::Parts;
use crate::shell::{
    Operation, Parameter, PieceKind, Quoting, Reference, Script, Substitution, SubstitutionStyle,
};

/// What stands around an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// No quotes.
    Bare,
    /// `"…"`
    Double,
    /// `$"…"`
    Locale,
    /// A here-document or an arithmetic expression.
    Body,
}

impl Frame {
    pub(super) fn quoting(self) -> Quoting {
        match self {
            Self::Bare => Quoting::Bare,
            Self::Double => Quoting::Double,
            Self::Locale => Quoting::Locale,
            Self::Body => Quoting::Body,
        }
    }
}

impl Reader<'_> {
    /// At `$`.
    pub(super) fn dollar(&mut self, parts: &mut Parts, frame: Frame) -> Read<()> {
        self.one_more_piece()?;
        let start = self.settle();
        self.bump();
        let mut open_name = false;
        let kind = match self.peek() {
            Some(b'(') => self.dollar_paren(start, frame)?,
            Some(b'{') => {
                let from = self.at + 1;
                let parameter = self.deeper(|reader| reader.braced_parameter(frame, start))?;
                let inner = self.source.text().get(from..self.at).unwrap_or_default();
                parts.intricate |= inner.contains(['{', '"', '\'', '`', '\\']);
                PieceKind::Parameter(Box::new(parameter))
            }
            Some(b'[') => {
                self.bash_only("`$[`", start)?;
                parts.old_arithmetic |= frame == Frame::Bare;
                self.bump();
                PieceKind::Arithmetic(self.deeper(|reader| reader.bracket_arithmetic(start))?)
            }
            Some(b'\'' | b'"') if frame == Frame::Bare => return self.dollar_quoted(parts, start),
            Some(byte) if starts_name(byte) => {
                open_name = frame == Frame::Bare;
                PieceKind::Parameter(Box::new(plain(self.name())))
            }
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-')) => {
                self.bump();
                PieceKind::Parameter(Box::new(plain(char::from(byte).to_string())))
            }
            // Bash 5.1 takes the next quote, on whatever word, for that of `$"…"`, and loses a letter before it.
            next if self.parens > 0 && frame == Frame::Bare && ends_word(next) => {
                return self.refuse("a word that ends in `$` inside a substitution", start);
            }
            _ => {
                parts.text(start, "$");
                parts.lone_dollar |= frame == Frame::Bare;
                return Ok(());
            }
        };
        parts.push(self, start, frame.quoting(), kind);
        parts.open_name = open_name;
        Ok(())
    }

    fn dollar_paren(&mut self, start: usize, frame: Frame) -> Read<PieceKind> {
        if self.looking_at("((") {
            self.eat("((");
            let arithmetic = self.deeper(|reader| reader.dollar_arithmetic(start, frame))?;
            return Ok(PieceKind::Arithmetic(arithmetic));
        }
        self.bump();
        let script = self.substituted()?;
        Ok(PieceKind::Command(Substitution { style: SubstitutionStyle::Dollar, script }))
    }

    /// Behind `$(`, `<(` or `>(`: the script, up to and over its `)`.
    pub(super) fn substituted(&mut self) -> Read<Script> {
        self.deeper(|reader| {
            let outer = std::mem::take(&mut reader.pending);
            reader.waiting += outer.len();
            reader.parens += 1;
            let documents = std::mem::take(&mut reader.documents);
            reader.state.substitutions += 1;
            let script = reader.script(Stop::Paren)?;
            reader.no_open_documents()?;
            reader.bump();
            reader.state.substitutions -= 1;
            reader.documents = documents;
            reader.parens -= 1;
            reader.waiting -= outer.len();
            reader.pending = outer;
            Ok(script)
        })
    }

    /// At the quote of `$'…'` or `$"…"`.
    pub(super) fn dollar_quoted(&mut self, parts: &mut Parts, start: usize) -> Read<()> {
        self.bash_only("a `$` before a quote", start)?;
        if self.peek() == Some(b'\'') {
            let text = self.ansi_quoted(start)?;
            parts.push(self, start, Quoting::Ansi, PieceKind::Literal(text));
            return Ok(());
        }
        // The translation is looked up when the string is read. On the first line nothing has run yet that could
        // have chosen where to look.
        let settled = self.state.lines == 0 && self.state.substitutions == 0 && self.state.untranslated;
        if !settled {
            return self
                .refuse("a string that may be translated; leave the `$` before its quotes out", start);
        }
        let pieces = self.double_quoted(Frame::Locale)?;
        parts.extend(self, pieces);
        Ok(())
    }
}

/// `$x`, without braces.
fn plain(name: String) -> Parameter {
    Parameter { name, subscript: None, reference: Reference::Direct, operation: Operation::Value }
}
