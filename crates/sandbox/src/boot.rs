//! Which start of the machine this is.
//!
//! Invariant: two equal, non-empty boot ids mean that nothing written in between was lost to a power cut.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::sync::OnceLock;

/// How long a boot id is.
const LENGTH: usize = 36;

/// The kernel's boot id; empty where it cannot be had, which counts as "not started anew".
pub(crate) fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| read().unwrap_or_default())
}

fn read() -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, c"/proc/sys/kernel/random/boot_id", flags, Mode::empty()).ok()?;
    let mut text = vec![0; LENGTH];
    let whole = rustix::io::read(&file, &mut text) == Ok(LENGTH);
    let fits = whole && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    String::from_utf8(text).ok().filter(|_| fits)
}
