//! The kernel's boot id.
//!
//! Two equal, non-empty boot ids mean that the machine was not restarted in between.

use crate::os_file::read_boot_id;
use std::sync::OnceLock;

/// The length of a boot id.
const LENGTH: usize = 36;

/// The boot id; empty where it cannot be read, which counts as "not restarted".
pub(crate) fn boot_id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| read().unwrap_or_default())
}

fn read() -> Option<String> {
    let text = read_boot_id()?;
    let fits = text.len() == LENGTH && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    String::from_utf8(text).ok().filter(|_| fits)
}
