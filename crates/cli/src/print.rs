//! Standard output: results only. Standard error: what must be said whatever the log level is.
//!
//! Invariant: a reader that went away ends the output quietly; it is not an error of ours.

use std::io::{self, Write};

/// Writes a result as it is.
pub(crate) fn exactly(text: &str) -> io::Result<()> {
    ignore_broken_pipe(write_all(text.as_bytes()))
}

/// Writes a result, and the newline that it lacks.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let ended = if text.ends_with('\n') { "" } else { "\n" };
    ignore_broken_pipe(write_all(format!("{text}{ended}").as_bytes()))
}

fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn ignore_broken_pipe(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says something on standard error; when nobody can hear it, that is no reason to fail.
pub(crate) fn note(text: &str) {
    let _unheard = writeln!(io::stderr().lock(), "{text}");
}
