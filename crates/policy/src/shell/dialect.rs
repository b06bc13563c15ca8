//! Which shell will run the text.
//!
//! Invariant: a text is read the way its shell reads it, or not at all.

/// The grammar to read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// GNU bash, started non-interactively, not in POSIX mode.
    Bash,
    /// `/bin/sh` that may be dash, busybox or bash in POSIX mode: what these read differently is refused.
    Posix,
}
