//! Where reading starts: the limits, and what is no text for a shell at all.
//!
//! Invariant: nothing beyond [`LONGEST`] bytes or [`DEEPEST`] levels is looked into.

use super::cursor::{Read, Reader, Source, State};
use super::list::Stop;
use crate::shell::{Dialect, NotUnderstood, Script, Span};
use std::cell::Cell;

/// The longest text that is read, in bytes.
pub const LONGEST: usize = 64 * 1024;

/// The deepest nesting that is read. Every level is a few stack frames, so this bounds the stack, too.
pub const DEEPEST: usize = 64;

/// Reads `text` as the shell of that dialect would.
pub fn read(text: &str, dialect: Dialect) -> Result<Script, NotUnderstood> {
    read_counted(text, dialect).0
}

/// Reads `text`, and says how many steps that took.
pub(super) fn read_counted(text: &str, dialect: Dialect) -> (Read<Script>, usize) {
    let untranslated = !text.contains("TEXTDOMAIN");
    let mut state =
        State { dialect, depth: 0, substitutions: 0, lines: 0, untranslated, steps: Cell::new(0) };
    if let Err(refusal) = is_readable(text, dialect) {
        return (Err(refusal), 0);
    }
    let result = Reader::new(Source::Whole(text), &mut state).script(Stop::Text);
    (result, state.steps.get())
}

fn is_readable(text: &str, dialect: Dialect) -> Read<()> {
    if text.len() > LONGEST {
        let what = format!("a text of {} bytes; {LONGEST} is the limit", text.len());
        return Err(NotUnderstood { what, span: Span { start: 0, end: text.len() } });
    }
    let control = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r'));
    if let Some((start, c)) = control {
        let what = format!("the control character {}", c.escape_unicode());
        return Err(NotUnderstood { what, span: Span { start, end: start + c.len_utf8() } });
    }
    if dialect == Dialect::Posix { no_split_operator(text) } else { Ok(()) }
}

/// Older versions of dash and busybox do not look behind a line continuation in the middle of an operator.
fn no_split_operator(text: &str) -> Read<()> {
    for (start, _) in text.match_indices("\\\n") {
        if text[..start].ends_with(['$', '&', '|', '<', '>', ';', '(', '{', '`']) {
            let what = "a line continuation inside an operator, which shells read differently".to_owned();
            return Err(NotUnderstood { what, span: Span { start, end: start + 2 } });
        }
    }
    Ok(())
}
