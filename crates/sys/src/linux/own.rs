//! What the kernel says of this process, read once: only what never changes is to be taken from it.
//!
//! Invariant: the text is of this process, and of no copy of it.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::sync::OnceLock;

/// The fields of `/proc/self/stat` from the third on, behind the program's name; nothing where it cannot be read.
pub fn own_stat() -> impl Iterator<Item = &'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| read().unwrap_or_default());
    // The name stands in parentheses and may hold anything, parentheses too.
    text.rsplit(')').next().unwrap_or_default().split_whitespace()
}

fn read() -> Option<String> {
    let file = openat(CWD, c"/proc/self/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = vec![0; 2048];
    let length = rustix::io::read(&file, text.as_mut_slice()).ok()?;
    text.truncate(length);
    Some(String::from_utf8_lossy(&text).into_owned())
}
