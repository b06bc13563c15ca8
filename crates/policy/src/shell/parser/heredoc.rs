//! Here-documents: the operator first, the body where the line ends.
//!
//! Bash finds the end of a body before it parses the inside, so the lines are collected first.
//! Where its search differs from "a line that is the delimiter", the text is refused.

use super::cursor::{ParseResult, Parser, Source};
use super::dollar::Frame;
use super::reserved::ends_word;
use super::word_builder::WordBuilder;
use crate::shell::{HereDocument, Piece, PieceKind, Quoting, RedirectionKind};
use std::sync::{Arc, OnceLock};

/// A here-document whose body is still to come.
#[derive(Debug)]
pub(super) struct Pending {
    body: Arc<OnceLock<Vec<Piece>>>,
    delimiter: String,
    expansion: Expansion,
    tabs: Tabs,
    start: usize,
}

/// Whether a here-document is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expansion {
    /// The delimiter is bare: parameters, commands and arithmetic are expanded in the body.
    Expanded,
    /// Some part of the delimiter is quoted: the body is literal.
    Literal,
}

/// What happens to the tabs at the beginning of a here-document's lines.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tabs {
    /// `<<`
    Kept,
    /// `<<-`
    Removed,
}

/// The lines of a body, and where each byte comes from.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    places: Vec<usize>,
    /// A line continues on the next one, and only some shells join them everywhere.
    joined: bool,
}

impl Parser<'_> {
    /// Behind `<<` or `<<-` and blanks.
    pub(super) fn here_document(&mut self, tabs: Tabs) -> ParseResult<RedirectionKind> {
        let start = self.skip_continuations();
        self.refuse_in_array("a here-document", start)?;
        let (delimiter, expansion) = self.delimiter(start)?;
        // `<<-` compares a line before and after removing the tabs.
        if delimiter.is_empty() || delimiter.contains(['\n', '\t']) {
            return self.refuse("a here-document without a plain delimiter", start);
        }
        self.documents += 1;
        let body = Arc::new(OnceLock::new());
        self.pending.push(Pending { body: body.clone(), delimiter, expansion, tabs, start });
        Ok(RedirectionKind::HereDocument(HereDocument { body }))
    }

    fn delimiter(&mut self, start: usize) -> ParseResult<(String, Expansion)> {
        let (mut text, mut expansion) = (String::new(), Expansion::Expanded);
        while !ends_word(self.peek()) {
            let next = self.peek();
            match next {
                Some(b'$' | b'`') => {
                    return self.refuse("an expansion in the delimiter of a here-document", start);
                }
                Some(b'\\') => text.push_str(self.bump_escape()),
                Some(b'\'') => text.push_str(&self.single_quoted()?),
                Some(b'"') => text.push_str(&self.plain_double_quoted("the delimiter of a here-document")?),
                _ => text.push_str(self.bump_char()),
            }
            if matches!(next, Some(b'\\' | b'\'' | b'"')) {
                expansion = Expansion::Literal;
            }
        }
        if matches!(self.peek(), Some(b'(')) || self.at_process() {
            return self.refuse("a parenthesis in the delimiter of a here-document", start);
        }
        Ok((text, expansion))
    }

    /// Consumes the end of a line, and the here-documents that begin after it.
    pub(super) fn newline(&mut self) -> ParseResult<()> {
        if self.waiting > 0 {
            return self
                .refuse("a line that ends in a substitution, before a here-document has begun", self.at);
        }
        self.bump();
        self.state.lines += 1;
        for pending in std::mem::take(&mut self.pending) {
            let pieces = self.here_body(&pending)?;
            // Set once: every pending document is removed from the list exactly once.
            let _ = pending.body.set(pieces);
        }
        Ok(())
    }

    /// Refuses a here-document whose line does not end.
    pub(super) fn refuse_open_documents(&self) -> ParseResult<()> {
        match self.pending.first() {
            Some(pending) => self.refuse("a here-document without a body", pending.start),
            None => Ok(()),
        }
    }

    fn here_body(&mut self, pending: &Pending) -> ParseResult<Vec<Piece>> {
        let start = self.at;
        let lines = self.here_lines(pending)?;
        if pending.expansion == Expansion::Literal {
            let (span, kind) = (self.span(start), PieceKind::Literal(lines.text));
            return Ok(vec![Piece { span, quoting: Quoting::Body, kind }]);
        }
        if lines.joined && lines.text.contains(['$', '`']) {
            return self.refuse("a continued line in a here-document that is expanded", start);
        }
        self.nested(|parser| {
            Parser::new(Source::Copy(&lines.text, &lines.places), parser.state).expanded_body()
        })
    }

    fn here_lines(&mut self, pending: &Pending) -> ParseResult<Lines> {
        let Pending { delimiter, expansion, tabs, .. } = pending;
        let source = self.source.text();
        let mut lines = Lines::default();
        let mut continued: Option<String> = None;
        loop {
            let rest = source.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return self.refuse(format!("a here-document without its `{delimiter}` line"), pending.start);
            }
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            self.count(line.len());
            let indent = match tabs {
                Tabs::Removed => line.len() - line.trim_start_matches('\t').len(),
                Tabs::Kept => 0,
            };
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = text.get(indent..).unwrap_or_default();
            if let Some(before) = &continued {
                // Shells differ on what a joined line is compared with, and on the tabs inside of
                // it.
                if text == delimiter || indent > 0 || is_joined(before, text, delimiter) {
                    self.at += line.len();
                    return self.refuse("a continued line that may end a here-document", pending.start);
                }
            } else if text == delimiter {
                let end = self.at;
                self.at += line.len();
                lines.places.push(self.source.origin(end));
                return Ok(lines);
            }
            // Inside `$(…)` bash ends the document at a line that begins with the delimiter and has
            // a `)`.
            if self.parens > 0 && text.starts_with(delimiter.as_str()) {
                self.at += line.len();
                return self
                    .refuse("a line that begins with the delimiter of its here-document", pending.start);
            }
            let slashes = text.len() - text.trim_end_matches('\\').len();
            let continues = *expansion == Expansion::Expanded && slashes % 2 == 1 && line.ends_with('\n');
            continued = continues.then(|| {
                let joined = text.strip_suffix('\\').unwrap_or(text);
                continued.take().unwrap_or_default() + joined
            });
            // Bash joins continued lines before it looks at anything, also inside the quotes of a
            // `$(…)`; dash does not look there.
            if continues && !self.is_bash() {
                lines.joined = true;
            }
            let ending = if continues && self.is_bash() { "\\\n".len() } else { 0 };
            self.push_line(&mut lines, line, indent, ending);
        }
    }

    /// Appends a line without its first `indent` and its last `ending` bytes.
    fn push_line(&mut self, lines: &mut Lines, line: &str, indent: usize, ending: usize) {
        let end = line.len() - ending;
        lines.text.push_str(line.get(indent..end).unwrap_or_default());
        lines.places.extend((self.at + indent..self.at + end).map(|at| self.source.origin(at)));
        self.at += line.len();
    }

    /// The body of a document with an unquoted delimiter: quotes are literal, expansions are not.
    fn expanded_body(&mut self) -> ParseResult<Vec<Piece>> {
        let mut parts = WordBuilder::new(Quoting::Body);
        while let Some(next) = self.peek() {
            match next {
                b'\\' if matches!(self.escaped(), "$" | "`" | "\\") => {
                    let start = self.skip_continuations();
                    parts.text(start, self.bump_escape());
                }
                b'$' => self.dollar(&mut parts, Frame::Body)?,
                b'`' => self.backticks(&mut parts, Frame::Body)?,
                _ => {
                    let start = self.skip_continuations();
                    parts.text(start, self.bump_char());
                }
            }
        }
        parts.pieces(self)
    }
}

fn is_joined(before: &str, text: &str, whole: &str) -> bool {
    whole.strip_prefix(before) == Some(text)
}
