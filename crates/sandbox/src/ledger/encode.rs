//! Entries into lines: redacted, bounded, hashed, chained.
//!
//! Invariant: a line is at most [`MAX_LINE`] bytes, moves no terminal, and its hash covers every byte before it.

use super::chain::{Hash, Tip};
use super::entry::Entry;
use crate::printable::write_json;
use crate::redact::Redactor;
use serde::Serialize;
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

#[derive(Serialize)]
struct Body<'e> {
    seq: u64,
    time: &'e str,
    phase: &'static str,
    origin: &'static str,
    agent: Cow<'e, str>,
    session: Cow<'e, str>,
    depth: u32,
    tool: Cow<'e, str>,
    intent: Option<Cow<'e, str>>,
    verdict: &'static str,
    code: Option<&'static str>,
    rule: Option<Cow<'e, str>>,
    layer: Option<&'static str>,
    enforced: Option<Vec<Cow<'e, str>>>,
    outcome: Option<Cow<'e, str>>,
    duration_us: Option<u64>,
    prev: &'e str,
}

/// Adds the line for `entry` to `out`; answers the new tip.
pub(super) fn encode(
    out: &mut Vec<u8>,
    entry: &Entry,
    tip: Tip,
    time: &str,
    redactor: &Redactor,
) -> io::Result<Tip> {
    let clean = |text| short(redactor, text);
    let prev = tip.hash.digits();
    let prev = str::from_utf8(&prev).map_err(io::Error::other)?;
    let body = Body {
        seq: tip.seq + 1,
        time,
        phase: entry.phase.as_str(),
        origin: entry.origin.as_str(),
        agent: Cow::Borrowed(&entry.agent),
        session: clean(&entry.session),
        depth: entry.depth,
        tool: clean(&entry.tool),
        intent: (!entry.intent.is_empty()).then(|| bounded(redactor.clean(&entry.intent), MAX_INTENT)),
        verdict: entry.verdict,
        code: entry.code.map(|code| code.as_str()),
        rule: entry.rule.as_deref().map(clean),
        layer: entry.layer.map(|layer| layer.as_str()),
        enforced: (!entry.enforced.is_empty())
            .then(|| entry.enforced.iter().take(MAX_LAYERS).map(|layer| clean(layer)).collect()),
        outcome: entry.outcome.as_deref().map(clean),
        duration_us: entry.duration.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        prev,
    };
    let start = out.len();
    write_json(out, &body)?;
    let hash = Hash::of(&out[start..]);
    out.pop(); // the closing brace comes back after the hash
    out.extend_from_slice(HASH_KEY);
    out.extend_from_slice(&hash.digits());
    out.extend_from_slice(b"\"}\n");
    Ok(Tip { seq: tip.seq + 1, hash })
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
