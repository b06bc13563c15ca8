//! The agent's memory file and the notes of the last three days.

use super::sources::PromptReader;
use jiff::{SignedDuration, Timestamp};

/// The part of the memory file that is read.
const MAX_MEMORY_BYTES: usize = 32 << 10;

/// The part of a day's notes that is read.
const MAX_NOTES_BYTES: usize = 8 << 10;

/// Days whose notes are read.
const DAYS: i64 = 3;

/// The part about memory; `None` when there are no files.
pub(super) fn memory(reader: &PromptReader<'_>, now: Timestamp) -> Option<String> {
    let mut parts: Vec<String> = reader.read("memory/MEMORY.md", MAX_MEMORY_BYTES).into_iter().collect();
    for ago in 0..DAYS {
        let day = now - SignedDuration::from_hours(24 * ago);
        if let Some(text) = reader.read(&day.strftime("memory/%Y%m/%Y%m%d.md").to_string(), MAX_NOTES_BYTES) {
            parts.push(format!("## Notes of {}\n\n{text}", day.strftime("%Y%m%d")));
        }
    }
    (!parts.is_empty()).then(|| format!("# Memory\n\n{}", parts.join("\n\n")))
}
