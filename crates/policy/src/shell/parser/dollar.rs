//! `$…`: expansions inside and outside quotes.

use super::cursor::{ParseResult, Parser};
use super::list::Stop;
use super::reserved::{ends_word, starts_name};
use super::word_builder::WordBuilder;
use crate::shell::{Operation, Parameter, PieceKind, Quoting, Reference, Script};

/// The quoting around an expansion.
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

impl Parser<'_> {
    /// At `$`.
    pub(super) fn dollar(&mut self, parts: &mut WordBuilder, frame: Frame) -> ParseResult<()> {
        self.count_piece()?;
        let start = self.skip_continuations();
        self.bump();
        let mut open_name = false;
        let kind = match self.peek() {
            Some(b'(') => self.dollar_paren(start, frame)?,
            Some(b'{') => {
                let from = self.at + 1;
                let parameter = self.nested(|parser| parser.braced_parameter(frame, start))?;
                let inner = self.source.text().get(from..self.at).unwrap_or_default();
                parts.intricate |= inner.contains(['{', '"', '\'', '`', '\\']);
                PieceKind::Parameter(Box::new(parameter))
            }
            Some(b'[') => {
                self.bash_only("`$[`", start)?;
                parts.old_arithmetic |= frame == Frame::Bare;
                self.bump();
                PieceKind::Arithmetic(self.nested(|parser| parser.bracket_arithmetic(start))?)
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
            // Bash 5.1 uses the next quote, on any word, as that of `$"…"`, and loses a letter
            // before it.
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

    fn dollar_paren(&mut self, start: usize, frame: Frame) -> ParseResult<PieceKind> {
        if self.looking_at("((") {
            self.eat("((");
            let arithmetic = self.nested(|parser| parser.dollar_arithmetic(start, frame))?;
            return Ok(PieceKind::Arithmetic(arithmetic));
        }
        self.bump();
        Ok(PieceKind::Command(self.substitution_script()?))
    }

    /// After `$(`, `<(` or `>(`: the script, up to and including its `)`.
    pub(super) fn substitution_script(&mut self) -> ParseResult<Script> {
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.pending);
            parser.waiting += outer.len();
            parser.parens += 1;
            let documents = std::mem::take(&mut parser.documents);
            parser.state.substitutions += 1;
            let script = parser.script(Stop::Paren)?;
            parser.refuse_open_documents()?;
            parser.bump();
            parser.state.substitutions -= 1;
            parser.documents = documents;
            parser.parens -= 1;
            parser.waiting -= outer.len();
            parser.pending = outer;
            Ok(script)
        })
    }

    /// At the quote of `$'…'` or `$"…"`.
    pub(super) fn dollar_quoted(&mut self, parts: &mut WordBuilder, start: usize) -> ParseResult<()> {
        self.bash_only("a `$` before a quote", start)?;
        if self.peek() == Some(b'\'') {
            let text = self.ansi_quoted(start)?;
            parts.push(self, start, Quoting::Ansi, PieceKind::Literal(text));
            return Ok(());
        }
        // The translation is looked up when the string is parsed. On the first line nothing has run
        // yet that could have changed the catalogue.
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
