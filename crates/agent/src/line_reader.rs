//! Lines of bounded length from a child's output, read asynchronously.

use crate::child_pipe::PipeReader;
use picoclaw_sandbox::bounded_lines::{BoundedLines, Line};
use picoclaw_sandbox::printable;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Bytes of a line of standard error that are logged.
const MAX_LOGGED_LINE: usize = 500;

/// Reads lines of at most the given length.
pub(crate) struct LineReader<R> {
    input: BufReader<R>,
    lines: BoundedLines,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, max_line: usize) -> Self {
        Self { input: BufReader::new(input), lines: BoundedLines::new(max_line) }
    }

    /// The next line; `None` at the end of the stream or after an error.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.input.fill_buf().await.ok()?;
            if available.is_empty() {
                return self.lines.finish();
            }
            let mut rest = available;
            let line = self.lines.next_line(&mut rest);
            let consumed = available.len() - rest.len();
            self.input.consume(consumed);
            if line.is_some() {
                return line;
            }
        }
    }
}

/// Logs what a child writes to standard error, until it closes it.
pub(crate) async fn log_stderr(stderr: PipeReader, kind: &'static str, name: String) {
    let mut lines = LineReader::new(stderr, MAX_LOGGED_LINE);
    while let Some(Line::Whole(line) | Line::TooLong { head: line }) = lines.next().await {
        let text = String::from_utf8_lossy(&line);
        tracing::warn!(target: "helper", kind, name = %name, said = %printable(text.trim_end()), "stderr");
    }
}
