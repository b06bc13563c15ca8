//! What the agent wrote down: its memory and the notes of the last three days.
//!
//! Invariant: bounded, however much there is.

use super::clock::{DAY, day_path};
use super::texts::Reader;
use picoclaw_sandbox::ledger::Timestamp;

/// The most of the memory that is read.
const MEMORY: usize = 32 << 10;

/// The most of a day's notes that is read.
const NOTES: usize = 8 << 10;

/// How many days' notes are read.
const DAYS: u32 = 3;

/// The part about memory; `None` when nothing was written down.
pub(super) fn memory(reader: &Reader<'_>, now: Timestamp) -> Option<String> {
    let mut parts: Vec<String> = reader.read("memory/MEMORY.md", MEMORY).into_iter().collect();
    for ago in 0..DAYS {
        let path = day_path(now.before(DAY * ago));
        if let Some(text) = reader.read(&format!("memory/{path}.md"), NOTES) {
            parts.push(format!("## Notes of {}\n\n{text}", path.rsplit('/').next().unwrap_or_default()));
        }
    }
    (!parts.is_empty()).then(|| format!("# Memory\n\n{}", parts.join("\n\n")))
}
