//! Entries into lines: redacted, bounded, hashed, chained.
//!
//! Invariant: a line is at most [`MAX_LINE`] bytes, moves no terminal, and its hash covers every byte before it.

use super::chain::{Hash, Tip};
use super::decimal::Decimal;
use super::entry::Entry;
use crate::printable::write_json;
use crate::redact::Redactor;
use std::borrow::Cow;
use std::io;

/// The longest line there can be, its line feed included. Whatever reads a ledger needs no more memory.
pub(super) const MAX_LINE: usize = 1 << 20;

/// The longest intent: the guard reads commands of up to 64 KiB.
const MAX_INTENT: usize = 64 << 10;

/// The longest any other text gets, and the most layers that are named.
const MAX_TEXT: usize = 4 << 10;
const MAX_LAYERS: usize = 16;

/// How a line ends: this, 64 digits, then `"}`.
pub(super) const HASH_KEY: &[u8] = b",\"hash\":\"";

/// Adds the line for `entry` to `out`; answers the new tip.
pub(super) fn encode(
    out: &mut Vec<u8>,
    entry: &Entry,
    tip: Tip,
    time: &str,
    redactor: &Redactor,
) -> io::Result<Tip> {
    let clean = |text| short(redactor, text);
    let start = out.len();
    out.reserve(1024);
    let mut line = Line(out);
    line.0.push(b'{');
    line.number("\"seq\":", tip.seq + 1);
    line.word(",\"time\":", time);
    line.word(",\"phase\":", entry.phase.as_str());
    line.word(",\"origin\":", entry.origin.as_str());
    line.text(",\"agent\":", Some(Cow::Borrowed(&entry.agent)))?;
    line.text(",\"session\":", Some(clean(&entry.session)))?;
    line.number(",\"depth\":", entry.depth.into());
    line.text(",\"tool\":", Some(clean(&entry.tool)))?;
    let intent = || bounded(redactor.clean(&entry.intent), MAX_INTENT);
    line.text(",\"intent\":", (!entry.intent.is_empty()).then(intent))?;
    line.word(",\"verdict\":", entry.verdict);
    line.text(",\"code\":", entry.code.map(|code| code.as_str().into()))?;
    line.text(",\"rule\":", entry.rule.as_deref().map(clean))?;
    line.text(",\"layer\":", entry.layer.map(|layer| layer.as_str().into()))?;
    line.raw(",\"enforced\":");
    match entry.enforced.get(..entry.enforced.len().min(MAX_LAYERS)) {
        None | Some([]) => line.raw("null"),
        Some(layers) => {
            for (at, layer) in layers.iter().enumerate() {
                line.text(if at == 0 { "[" } else { "," }, Some(clean(layer)))?;
            }
            line.raw("]");
        }
    }
    line.text(",\"outcome\":", entry.outcome.as_deref().map(clean))?;
    match entry.duration {
        None => line.raw(",\"duration_us\":null"),
        Some(took) => {
            line.number(",\"duration_us\":", u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        }
    }
    line.raw(",\"prev\":\"");
    line.0.extend_from_slice(&tip.hash.digits());
    line.raw("\"}");
    let hash = Hash::of(&out[start..]);
    out.pop(); // the closing brace comes back after the hash
    out.extend_from_slice(HASH_KEY);
    out.extend_from_slice(&hash.digits());
    out.extend_from_slice(b"\"}\n");
    Ok(Tip { seq: tip.seq + 1, hash })
}

/// A line that is being written. Names and the house's own words need no escapes.
struct Line<'o>(&'o mut Vec<u8>);

impl Line<'_> {
    fn raw(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, name: &str, number: u64) {
        self.raw(name);
        self.0.extend_from_slice(Decimal::of(number).digits());
    }

    fn word(&mut self, name: &str, word: &str) {
        self.raw(name);
        self.0.push(b'"');
        self.raw(word);
        self.0.push(b'"');
    }

    fn text(&mut self, name: &str, text: Option<Cow<'_, str>>) -> io::Result<()> {
        self.raw(name);
        match text {
            None => self.raw("null"),
            Some(text) => write_json(self.0, &text)?,
        }
        Ok(())
    }
}

fn short<'e>(redactor: &Redactor, text: &'e str) -> Cow<'e, str> {
    bounded(redactor.clean(text), MAX_TEXT)
}

/// `text`, cut to `most` bytes if need be, saying how much is missing.
fn bounded(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text;
    }
    let cut = text.floor_char_boundary(most);
    Cow::Owned(format!("{}… ({} more bytes)", &text[..cut], text.len() - cut))
}
