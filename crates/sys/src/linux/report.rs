//! What a keeper tells its parent, as fixed-size messages on a socket.
//!
//! Invariant: every report fits one packet and decodes to exactly what was encoded.

use crate::linux::raw::{Errno, call};

/// The length of one report on the wire.
pub(crate) const LENGTH: usize = 12;

/// One fact about a child, from its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The command's program runs.
    Started,
    /// A step of the set-up was refused: its position and the `errno`.
    SetupFailed(usize, i32),
    /// A step of the command's own preparation was refused: its position and the `errno`.
    CommandFailed(usize, i32),
    /// The program could not be executed, with this `errno`.
    ExecFailed(i32),
    /// The command ended with this wait status.
    Ended(i32),
    /// The tree took more memory than it may, and was ended.
    OutOfMemory,
    /// The command was stopped, by itself or by a key of its terminal, and waits to be continued.
    Stopped,
    /// Nobody is left of the tree, whose command ended with this wait status; only the keeper's own end is to come.
    Left(i32),
}

impl Report {
    /// Reads one message; `None` when it is not one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| -> Option<i32> {
            Some(i32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
        };
        let (kind, first, second) = (word(0)?, word(4)?, word(8)?);
        let position = usize::try_from(first).ok();
        match kind {
            1 => Some(Self::Started),
            2 => Some(Self::SetupFailed(position?, second)),
            3 => Some(Self::CommandFailed(position?, second)),
            4 => Some(Self::ExecFailed(second)),
            5 => Some(Self::Ended(second)),
            6 => Some(Self::OutOfMemory),
            7 => Some(Self::Stopped),
            8 => Some(Self::Left(second)),
            _ => None,
        }
    }

    fn encode(self) -> [u8; LENGTH] {
        let position = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        let (kind, first, second) = match self {
            Self::Started => (1, 0, 0),
            Self::SetupFailed(at, errno) => (2, position(at), errno),
            Self::CommandFailed(at, errno) => (3, position(at), errno),
            Self::ExecFailed(errno) => (4, 0, errno),
            Self::Ended(status) => (5, 0, status),
            Self::OutOfMemory => (6, 0, 0),
            Self::Stopped => (7, 0, 0),
            Self::Left(status) => (8, 0, status),
        };
        let mut bytes = [0; LENGTH];
        let words = [kind, first, second];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&i32::to_ne_bytes(word));
        }
        bytes
    }

    /// Writes the report to a pipe; a reader that is gone needs none.
    pub(crate) fn write(self, pipe: i32) {
        let bytes = self.encode();
        // SAFETY: `bytes` lives across the call and its length is passed with it.
        let _ = unsafe { call!(libc::SYS_write, pipe, bytes.as_ptr(), LENGTH) };
    }

    /// Reads a report from a pipe; `None` when it was closed without one.
    pub(crate) fn read(pipe: i32) -> Result<Option<Self>, Errno> {
        let mut bytes = [0; LENGTH];
        // SAFETY: the buffer is alive and its length is passed with it.
        match unsafe { call!(libc::SYS_read, pipe, bytes.as_mut_ptr(), LENGTH) }? {
            0 => Ok(None),
            _ => Self::decode(&bytes).map(Some).ok_or(libc::EPROTO),
        }
    }

    /// Sends the report; a parent that is gone needs none.
    pub(crate) fn send(self, control: i32) {
        let bytes = self.encode();
        // SAFETY: `bytes` lives across the call and its length is passed with it; the address is null.
        let _ = unsafe {
            call!(
                libc::SYS_sendto,
                control,
                bytes.as_ptr(),
                LENGTH,
                libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
                0,
                0
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        for report in [
            Report::Started,
            Report::SetupFailed(7, libc::EPERM),
            Report::CommandFailed(0, libc::EINVAL),
            Report::ExecFailed(libc::ENOENT),
            Report::Ended(0x0f00),
            Report::OutOfMemory,
            Report::Stopped,
            Report::Left(0x0100),
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn anything_else_is_no_report() {
        for (why, bytes) in
            [("nothing", &[][..]), ("cut short", &[1, 0, 0, 0, 0]), ("an unknown kind", &[9; 12])]
        {
            assert_eq!(Report::decode(bytes), None, "{why}");
        }
    }
}
