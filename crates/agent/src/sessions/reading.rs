//! Reading a session's lines back.
//!
//! Invariant: a line that cannot be read costs that line and no other; memory is bounded, whatever the file holds.

use super::error::SessionError;
use crate::message::Message;
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::state_dir::LineFile;
use std::collections::VecDeque;

/// The longest line that is read.
const LONGEST: usize = 10 << 20;

/// The most bytes of lines that are held; the oldest give way.
const HELD: usize = 64 << 20;

/// What a file of messages holds.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The messages that are held, oldest first, each with the number of its line.
    pub(super) messages: VecDeque<(u64, Message)>,
    /// How many could be read.
    pub(super) readable: u64,
    /// How many lines could not be.
    pub(super) corrupt: u64,
    /// How many lines there are.
    pub(super) total: u64,
}

/// Reads every message but those in the first `skip` lines.
pub(super) fn read(line_file: &LineFile, skip: u64) -> Result<Lines, SessionError> {
    let mut lines = Lines::default();
    let (mut sizes, mut held) = (VecDeque::new(), 0);
    line_file.each_line(LONGEST, |line| {
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
        lines.messages.push_back((number, message));
        sizes.push_back(bytes.len());
        held += bytes.len();
        while held > HELD && sizes.len() > 1 {
            held -= sizes.pop_front().unwrap_or_default();
            lines.messages.pop_front();
        }
    })?;
    Ok(lines)
}
