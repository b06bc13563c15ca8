//! Encodes an entry as a line: redacted, bounded, chained and hashed.

use super::chain::{ChainHead, Hash};
use super::entry::Entry;
use super::record::Record;
use crate::printable::write_json;
use crate::redact::Redactor;
use std::io;

/// The longest line there can be, its line feed included. A reader needs no more memory.
pub(super) const MAX_LINE: usize = 1 << 20;

/// The longest intent: the guard reads commands of up to 64 KiB.
const MAX_INTENT: usize = 64 << 10;

/// The longest outcome: it names the protected files that a command wrote.
const MAX_OUTCOME: usize = 24 << 10;

/// The longest any other text gets.
const MAX_TEXT: usize = 4 << 10;

/// The most layers that are named.
const MAX_LAYERS: usize = 16;

/// How a line ends: this, 64 digits, then `"}`.
pub(super) const HASH_KEY: &[u8] = b",\"hash\":\"";

/// Adds the line for `entry` to `out` and returns the new head of the chain.
pub(super) fn encode(
    out: &mut Vec<u8>,
    entry: &Entry,
    head: ChainHead,
    time: &str,
    redactor: &Redactor,
) -> io::Result<ChainHead> {
    let start = out.len();
    let record = record(entry, head, time, redactor);
    write_json(out, &record)?;
    let hash = Hash::of(&out[start..]);
    out.pop(); // the closing brace comes back after the hash
    out.extend_from_slice(HASH_KEY);
    out.extend_from_slice(hash.to_string().as_bytes());
    out.extend_from_slice(b"\"}\n");
    Ok(ChainHead { seq: record.seq, hash })
}

/// The record of `entry` behind `head`, still without its hash.
fn record(entry: &Entry, head: ChainHead, time: &str, redactor: &Redactor) -> Record {
    let clean = |text: &str| bounded(redactor.clean(text).into_owned(), MAX_TEXT);
    let layers: Vec<_> = entry.enforced.iter().take(MAX_LAYERS).map(|layer| clean(layer)).collect();
    Record {
        seq: head.seq + 1,
        time: time.to_owned(),
        phase: entry.phase.as_str().to_owned(),
        origin: entry.origin.as_str().to_owned(),
        agent: entry.agent.clone(),
        session: clean(&entry.session),
        depth: entry.depth,
        lineage: (!entry.lineage.is_empty()).then(|| entry.lineage.clone()),
        principal: entry.principal.as_deref().map(clean),
        tool: clean(&entry.tool),
        intent: (!entry.intent.is_empty())
            .then(|| bounded(redactor.clean(&entry.intent).into_owned(), MAX_INTENT)),
        verdict: entry.verdict.to_owned(),
        code: entry.code.map(|code| code.as_str().to_owned()),
        rule: entry.rule.as_deref().map(clean),
        layer: entry.layer.map(|layer| layer.as_str().to_owned()),
        enforced: (!layers.is_empty()).then_some(layers),
        outcome: entry.outcome.as_deref().map(|text| bounded(redactor.clean(text).into_owned(), MAX_OUTCOME)),
        duration_us: entry.duration.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        prev: head.hash.to_string(),
        hash: String::new(),
    }
}

/// `text`, cut to `max` bytes if need be, saying how much is missing.
fn bounded(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let cut = text.floor_char_boundary(max);
    format!("{}… ({} more bytes)", &text[..cut], text.len() - cut)
}
