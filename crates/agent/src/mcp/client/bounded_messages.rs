//! The output of a server, without messages that are too long. The call that such a message answers
//! gets an error at once, and the connection goes on behind it.

use crate::jsonrpc::OversizedMessage;
use picoclaw_sandbox::bounded_lines::{BoundedLines, Line};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Lines of at most the given length.
pub(super) struct BoundedMessages<R> {
    input: R,
    lines: BoundedLines,
    max: usize,
    buffer: Box<[u8]>,
    /// What can be read, from `taken` on.
    ready: Vec<u8>,
    taken: usize,
    is_ended: bool,
}

impl<R> BoundedMessages<R> {
    pub(super) fn new(input: R, max: usize) -> Self {
        let buffer = vec![0; READ_BYTES].into_boxed_slice();
        Self {
            input,
            lines: BoundedLines::new(max),
            max,
            buffer,
            ready: Vec::new(),
            taken: 0,
            is_ended: false,
        }
    }

    fn add(&mut self, count: usize) {
        let lines: Vec<Line> = self.lines.push(&self.buffer[..count]).collect();
        for line in lines {
            match line {
                Line::Whole(line) => self.add_line(&line),
                Line::TooLong { head } => match OversizedMessage::of(&head) {
                    OversizedMessage::Response(id) => {
                        let error = format!(
                            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"the answer is longer than {} bytes"}}}}"#,
                            self.max
                        );
                        self.add_line(error.as_bytes());
                    }
                    OversizedMessage::Unanswering => {}
                    // The call that it answers is unknown, so all of them fail.
                    OversizedMessage::Unknown => {
                        self.is_ended = true;
                        return;
                    }
                },
            }
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        self.ready.extend_from_slice(line);
        self.ready.push(b'\n');
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedMessages<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.taken == this.ready.len() && !this.is_ended {
            this.ready.clear();
            this.taken = 0;
            let mut buffer = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.input).poll_read(cx, &mut buffer))?;
            match buffer.filled().len() {
                0 => {
                    this.is_ended = true;
                    if let Some(Line::Whole(line)) = this.lines.finish() {
                        this.add_line(&line);
                    }
                }
                count => this.add(count),
            }
        }
        let rest = &this.ready[this.taken..];
        let count = rest.len().min(out.remaining());
        out.put_slice(&rest[..count]);
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_message_that_is_too_long_becomes_an_error_and_the_rest_goes_on() {
        let long = "x".repeat(300);
        for (why, input, want) in [
            ("short ones", "{\"id\":1}\n{\"id\":2}\n".to_owned(), "{\"id\":1}\n{\"id\":2}\n".to_owned()),
            (
                "a long answer",
                format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{long}\"}}\n{{\"id\":2}}\n"),
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32000,\"message\":\"the answer is longer than 100 bytes\"}}\n{\"id\":2}\n".to_owned(),
            ),
            (
                "a long notification",
                format!("{{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":\"{long}\"}}\n{{\"id\":2}}\n"),
                "{\"id\":2}\n".to_owned(),
            ),
            ("an id that comes too late", format!("{{\"result\":\"{long}\",\"id\":7}}\n{{\"id\":2}}\n"), String::new()),
            ("no message at all", format!("{long}\n{{\"id\":2}}\n"), "{\"id\":2}\n".to_owned()),
            ("no line feed at the end", "{\"id\":1}".to_owned(), "{\"id\":1}\n".to_owned()),
        ] {
            let mut text = String::new();
            BoundedMessages::new(input.as_bytes(), 100).read_to_string(&mut text).await.unwrap();
            assert_eq!(text, want, "{why}");
        }
    }
}
