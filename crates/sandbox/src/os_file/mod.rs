//! The calls of the operating system on files, relative to an open directory.
//!
//! On Unix they are those of rustix; what macOS has not is done there with calls that it has. On
//! Windows they have the same names and work on handles, as far as they are used here; what Windows
//! has not, such as modes and owners, does nothing there.

mod entry;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
pub(crate) mod mount_table;
#[cfg(not(target_os = "macos"))]
mod path_handle;
mod regular_file;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_types;

/// Whether a lock goes together with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// With shared ones.
    Shared,
    /// With none.
    Exclusive,
}

pub(crate) use entry::{DirEntryHandle, Lookup, open_entry, read_entry_link};
#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "macos")]
pub use macos::*;
pub use mount_table::MountTable;
#[cfg(not(target_os = "macos"))]
pub(crate) use path_handle::{lstat_beneath, stat_path};
pub use regular_file::read_regular_file;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
