//! The kernel's boot id.
//!
//! Two equal, non-empty boot ids mean that the machine was not restarted in between.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::sync::OnceLock;

/// The length of a boot id.
const LENGTH: usize = 36;

/// The boot id; empty where it cannot be read, which counts as "not restarted".
pub(crate) fn boot_id() -> &'static str {
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
