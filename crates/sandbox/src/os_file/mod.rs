//! The calls of the operating system on files, relative to an open directory.
//!
//! On Unix they are those of rustix. On Windows they have the same names and work on handles, as far as
//! they are used here; what Windows has not, such as modes and owners, does nothing there.

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

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
