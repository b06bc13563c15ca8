//! Which start of the machine this is.
//!
//! Invariant: two equal, non-empty boot ids mean that nothing written in between was lost to a power cut.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::File;
use std::io::Read;

/// The kernel's boot id; empty where it cannot be had, which counts as "not started anew".
pub(super) fn id() -> String {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(fd) = openat(CWD, "/proc/sys/kernel/random/boot_id", flags, Mode::empty()) else {
        return String::new();
    };
    let mut text = [0; 36];
    match File::from(fd).read_exact(&mut text) {
        Ok(()) if text.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-') => {
            String::from_utf8_lossy(&text).into_owned()
        }
        _ => String::new(),
    }
}
