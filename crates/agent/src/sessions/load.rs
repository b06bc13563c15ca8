//! Loads the messages of a session file in bounded memory. Unreadable lines are counted and left
//! out.

use super::error::SessionError;
use super::session::StoredMessage;
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::state_dir::LineFile;
use std::collections::VecDeque;

/// The longest line that is read.
const MAX_LINE_BYTES: usize = 10 << 20;

/// Bytes of lines that are held; the oldest are dropped.
const MAX_HELD_BYTES: usize = 64 << 20;

/// The content of a session file.
#[derive(Debug, Default)]
pub(super) struct LoadedMessages {
    /// The messages that are held, oldest first.
    pub(super) messages: VecDeque<StoredMessage>,
    /// How many lines were read.
    pub(super) readable: u64,
    /// How many lines were left out.
    pub(super) corrupt: u64,
    /// How many lines there are.
    pub(super) total: u64,
}

/// Loads every message but those in the first `skip` lines.
pub(super) fn load(line_file: &LineFile, skip: u64) -> Result<LoadedMessages, SessionError> {
    let mut lines = LoadedMessages::default();
    let (mut sizes, mut held) = (VecDeque::new(), 0);
    line_file.each_line(MAX_LINE_BYTES, |line| {
        let number = lines.total;
        lines.total += 1;
        if number < skip {
            return;
        }
        let Line::Whole(bytes) = line else {
            lines.corrupt += 1;
            return;
        };
        let Ok(message) = serde_json::from_slice(&bytes) else {
            lines.corrupt += u64::from(!bytes.iter().all(u8::is_ascii_whitespace));
            return;
        };
        lines.readable += 1;
        lines.messages.push_back(StoredMessage { line: number, message });
        sizes.push_back(bytes.len());
        held += bytes.len();
        while held > MAX_HELD_BYTES && sizes.len() > 1 {
            held -= sizes.pop_front().unwrap_or_default();
            lines.messages.pop_front();
        }
    })?;
    Ok(lines)
}
