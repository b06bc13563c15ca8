//! This process: what Linux hardens and counts, and Windows does not.

use std::io;

/// Nothing is to be done: no process of low integrity can open this one.
pub fn harden_self() -> io::Result<()> {
    Ok(())
}

/// Handles have no limit that could be raised.
pub fn raise_fd_limit(wanted: u64) -> u64 {
    wanted
}

/// Not measured here.
pub fn resident_bytes() -> Option<u64> {
    None
}
