//! Brace expansion: `{a,b}` and `{1..9}`.
//!
//! Bash expands braces in the *text* of a word, before anything else, so `$x{a,b}` means `$xa $xb`
//! and `{$,x}HOME` contains `$HOME`. Words where that changes what is expanded are refused.

use super::cursor::{ParseResult, Parser};
use super::entry::MAX_WORDS;
use super::reserved::continues_name;
use super::word_builder::{Atom, Mark, WordBuilder, join};
use crate::shell::{Piece, PieceKind, Quoting, Sequence, Span, Word};

/// An open brace.
struct Open {
    at: usize,
    alternatives: Vec<Word>,
    current: Vec<Piece>,
    from: usize,
}

impl Open {
    fn end_alternative(&mut self, parser: &Parser<'_>, at: usize) -> ParseResult<()> {
        parser.count_one(&parser.state.size.words, MAX_WORDS, "words")?;
        let span = parser.span_between(self.from, at);
        self.alternatives.push(Word { span, pieces: std::mem::take(&mut self.current) });
        self.from = at + 1;
        Ok(())
    }
}

/// Turns marks into braces, or back into text.
pub(super) fn resolve(parts: WordBuilder, parser: &Parser<'_>) -> ParseResult<Vec<Piece>> {
    let expands = is_expanded(&parts, parser)?;
    if expands {
        check_joints(&parts, parser)?;
    }
    let mut pieces = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for atom in parts.atoms {
        let (mark, at) = match atom {
            Atom::Piece(piece) => {
                join(open.last_mut().map_or(&mut pieces, |open| &mut open.current), piece);
                continue;
            }
            Atom::Mark(mark, at) => (mark, at),
        };
        let literal = || Piece {
            span: parser.span_between(at, at + 1),
            quoting: Quoting::Bare,
            kind: PieceKind::Literal(mark.text().to_owned()),
        };
        match mark {
            Mark::Open if expands => {
                open.push(Open { at, alternatives: Vec::new(), current: Vec::new(), from: at + 1 });
            }
            Mark::Comma if expands && !open.is_empty() => {
                if let Some(open) = open.last_mut() {
                    open.end_alternative(parser, at)?;
                }
            }
            Mark::Close if expands && !open.is_empty() => {
                if let Some(closed) = open.pop() {
                    let outer = open.last_mut().map_or(&mut pieces, |open| &mut open.current);
                    close(outer, closed, at, parser)?;
                }
            }
            _ => join(open.last_mut().map_or(&mut pieces, |open| &mut open.current), literal()),
        }
    }
    Ok(pieces)
}

/// Whether any brace of the word is expanded. Bash guesses about braces that do not pair; this
/// refuses.
fn is_expanded(parts: &WordBuilder, parser: &Parser<'_>) -> ParseResult<bool> {
    let (mut depth, mut opens, mut stray, mut commas) = (0_usize, 0_usize, false, false);
    let mut dots = false;
    for atom in &parts.atoms {
        match atom {
            Atom::Mark(Mark::Open, _) => (depth, opens) = (depth + 1, opens + 1),
            Atom::Mark(Mark::Close, _) if depth == 0 => stray = true,
            Atom::Mark(Mark::Close, _) => depth -= 1,
            Atom::Mark(Mark::Comma, _) => commas |= depth > 0 || stray,
            Atom::Piece(Piece { kind: PieceKind::Literal(text), .. }) => {
                dots |= opens > 0 && text.contains("..")
            }
            _ => {}
        }
    }
    let expands = opens > 0 && (commas || dots);
    if expands && (stray || depth > 0) {
        return parser.refuse("braces that do not pair in a word that may be expanded", first_mark(parts));
    }
    Ok(expands)
}

fn first_mark(parts: &WordBuilder) -> usize {
    let marks = parts.atoms.iter().find_map(|atom| match atom {
        Atom::Mark(_, at) => Some(*at),
        Atom::Piece(_) => None,
    });
    marks.unwrap_or_default()
}

/// Refuses a word in which an expansion could join a name or a `$` to the text next to the brace.
fn check_joints(parts: &WordBuilder, parser: &Parser<'_>) -> ParseResult<()> {
    let start = first_mark(parts);
    if parts.old_arithmetic {
        return parser.refuse("`$[` beside braces; write `$((`", start);
    }
    if parts.intricate {
        return parser.refuse("quotes or braces inside of an expansion beside braces", start);
    }
    if parts.lone_dollar {
        return parser.refuse("a `$` beside braces, which may become an expansion", start);
    }
    let glued = parts.name_before.contains(&Mark::Open)
        || (!parts.name_before.is_empty() && parts.atoms.windows(2).any(continues_behind_brace));
    if glued {
        return parser.refuse("a variable beside braces; write `${name}`", start);
    }
    Ok(())
}

fn continues_behind_brace(pair: &[Atom]) -> bool {
    match pair {
        [Atom::Mark(Mark::Close, _), Atom::Mark(Mark::Open, _)] => true,
        [Atom::Mark(Mark::Close, _), Atom::Piece(piece)] => match &piece.kind {
            PieceKind::Literal(text) if piece.quoting == Quoting::Bare => {
                text.bytes().next().is_some_and(continues_name)
            }
            _ => false,
        },
        _ => false,
    }
}

fn close(outer: &mut Vec<Piece>, mut open: Open, at: usize, parser: &Parser<'_>) -> ParseResult<()> {
    let span = parser.span_between(open.at, at + 1);
    if !open.alternatives.is_empty() {
        parser.bash_only("brace expansion", open.at)?;
        open.end_alternative(parser, at)?;
        outer.push(Piece { span, quoting: Quoting::Bare, kind: PieceKind::Braces(open.alternatives) });
        return Ok(());
    }
    if let [Piece { quoting: Quoting::Bare, kind: PieceKind::Literal(text), .. }] = open.current.as_slice() {
        match sequence(text) {
            Counted::Yes(sequence) => {
                parser.bash_only("brace expansion", open.at)?;
                outer.push(Piece { span, quoting: Quoting::Bare, kind: PieceKind::Sequence(sequence) });
                return Ok(());
            }
            Counted::No => {}
            Counted::Unsure => return parser.refuse("a sequence of letters and signs in braces", open.at),
        }
    }
    let literal = |span: Span, text: &str| Piece {
        span,
        quoting: Quoting::Bare,
        kind: PieceKind::Literal(text.to_owned()),
    };
    join(outer, literal(parser.span_between(open.at, open.at + 1), "{"));
    for piece in open.current {
        join(outer, piece);
    }
    join(outer, literal(parser.span_between(at, at + 1), "}"));
    Ok(())
}

/// What `a..b` or `a..b..c` means.
enum Counted {
    Yes(Sequence),
    No,
    Unsure,
}

fn sequence(text: &str) -> Counted {
    let fields: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match fields.as_slice() {
        [first, last] => (*first, *last, "1"),
        [first, last, step] => (*first, *last, *step),
        _ => return Counted::No,
    };
    if !looks_numeric(step) {
        return Counted::No;
    }
    let Ok(step) = step.parse() else { return Counted::Unsure };
    if looks_numeric(first) && looks_numeric(last) {
        let (Ok(from), Ok(to)) = (first.parse(), last.parse()) else { return Counted::Unsure };
        let padded = [first, last].iter().any(|number| is_padded(number));
        let width = if padded { first.len().max(last.len()) } else { 0 };
        return Counted::Yes(Sequence::Numbers { first: from, last: to, step, width });
    }
    let mut chars = [first, last].map(|side| {
        let mut chars = side.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    });
    match (chars[0].take(), chars[1].take()) {
        (Some(first), Some(last)) if first.is_ascii_lowercase() == last.is_ascii_lowercase() => {
            Counted::Yes(Sequence::Letters { first, last, step })
        }
        // Between `Z` and `a` lie a backslash and a backtick.
        (Some(_), Some(_)) => Counted::Unsure,
        _ => Counted::No,
    }
}

fn looks_numeric(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0')
}
