//! The dialect of the shell that will run the text.

/// The grammar to parse by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// GNU bash, started non-interactively, not in POSIX mode.
    Bash,
    /// `/bin/sh`, which may be dash, busybox or bash in POSIX mode. What these parse differently is
    /// refused.
    Posix,
    /// PowerShell of Windows, in which lines for `cmd` are written too. There is no grammar for it:
    /// the guard splits it into words.
    PowerShell,
}
