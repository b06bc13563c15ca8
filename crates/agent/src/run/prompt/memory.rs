//! What the agent wrote down: its memory and the notes of the last three days.
//!
//! Invariant: bounded, however much there is.

use super::texts::Reader;
use jiff::{SignedDuration, Timestamp};

/// The most of the memory that is read.
const MEMORY: usize = 32 << 10;

/// The most of a day's notes that is read.
const NOTES: usize = 8 << 10;

/// How many days' notes are read.
const DAYS: i64 = 3;

/// The part about memory; `None` when nothing was written down.
pub(super) fn memory(reader: &Reader<'_>, now: Timestamp) -> Option<String> {
    let mut parts: Vec<String> = reader.read("memory/MEMORY.md", MEMORY).into_iter().collect();
    for ago in 0..DAYS {
        let day = now - SignedDuration::from_hours(24 * ago);
        if let Some(text) = reader.read(&day.strftime("memory/%Y%m/%Y%m%d.md").to_string(), NOTES) {
            parts.push(format!("## Notes of {}\n\n{text}", day.strftime("%Y%m%d")));
        }
    }
    (!parts.is_empty()).then(|| format!("# Memory\n\n{}", parts.join("\n\n")))
}
