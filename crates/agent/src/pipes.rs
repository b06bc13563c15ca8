//! The pipes of guests: lines within bounds.
//!
//! Invariant: a line costs at most its bound, however long it is.

use picoclaw_sandbox::printable;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;

/// How much of a line on a guest's second output is logged.
const SAID: usize = 500;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// It is there.
    Whole,
    /// It was longer than its bound, and is gone.
    TooLong,
}

/// The next line, of at most `most` bytes; `None` at the end.
pub(crate) async fn read_line<R: AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
    line: &mut Vec<u8>,
    most: usize,
) -> Option<Line> {
    line.clear();
    let mut became = Line::Whole;
    loop {
        let room = (most + 1).saturating_sub(line.len()) as u64;
        let read = (&mut *lines).take(room.max(1)).read_until(b'\n', line).await.ok()?;
        if read == 0 {
            return (!line.is_empty()).then_some(became);
        }
        if line.ends_with(b"\n") {
            return Some(became);
        }
        if line.len() > most {
            became = Line::TooLong;
            line.clear();
        }
    }
}

/// Logs what a guest says on its second output, until it is gone.
pub(crate) async fn log(stderr: pipe::Receiver, what: &'static str, name: String) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    while read_line(&mut lines, &mut line, SAID).await.is_some() {
        let text = String::from_utf8_lossy(&line);
        tracing::warn!(target: "guest", kind = what, name = %name, said = %printable(text.trim_end()), "stderr");
    }
}
