//! Standard output for results only; standard error for messages that do not depend on the log
//! level.
//!
//! A closed pipe ends the output without an error.

use crate::console::window_size;
use crate::progress;
use crate::style::{Liveness, Style, wrap};
use picoclaw_sandbox::printable_lines;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes a result unchanged.
pub(crate) fn exactly(text: &str) -> io::Result<()> {
    ignore_broken_pipe(write_all(text.as_bytes()))
}

/// Writes a result, with a trailing newline.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let ended = if text.ends_with('\n') { "" } else { "\n" };
    ignore_broken_pipe(write_all(format!("{text}{ended}").as_bytes()))
}

/// Text of a command, file or server for standard output: a pipe gets it unchanged, a terminal
/// without the control characters that it would act on.
pub(crate) fn untrusted(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { printable_lines(text) } else { Cow::Borrowed(text) }
}

/// Columns of standard output, if it is a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let (columns, _) = window_size(io::stdout())?;
    (columns > 0).then(|| columns.into())
}

/// A row of a table: a terminal gets what fits in its width, a pipe all of it.
pub(crate) fn fitted(row: &str) -> Cow<'_, str> {
    let Some(width) = terminal_width() else { return Cow::Borrowed(row) };
    let style = Style::of_environment(|name| std::env::var(name).ok(), Liveness::Live);
    Cow::Owned(style.fit(row, width))
}

/// Lines that a terminal gets broken between words, with a margin of `hang` blanks, and a pipe
/// whole.
pub(crate) fn wrapped(text: &str, hang: usize) -> Cow<'_, str> {
    let Some(width) = terminal_width() else { return Cow::Borrowed(text) };
    let rows: Vec<String> = text.lines().flat_map(|line| wrap(line, width, hang)).collect();
    Cow::Owned(rows.join("\n"))
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

/// Ends a control sequence that a command may have left open on a terminal, which would swallow the
/// next message: CAN, ST, and the default colours.
const END_CONTROL_SEQUENCE: &str = "\x18\x1b\\\x1b[0m";

/// Whether a command has written to the terminal since the last message.
static FOLLOWS_COMMAND: AtomicBool = AtomicBool::new(false);

/// A command has had the terminal.
pub(crate) fn after_command() {
    FOLLOWS_COMMAND.store(true, Ordering::Relaxed);
}

/// Writes a message to standard error. What a terminal would act on, such as a file's name may
/// hold, is written out.
pub(crate) fn note(text: &str) {
    let may_be_open = FOLLOWS_COMMAND.swap(false, Ordering::Relaxed) && io::stderr().is_terminal();
    let start = if may_be_open { END_CONTROL_SEQUENCE } else { "" };
    styled_note(&format!("{start}{}", printable_lines(text)));
}

/// Writes a message with colours to standard error. A failed write is ignored.
pub(crate) fn styled_note(text: &str) {
    let _unheard = writeln!(progress::stderr(), "{text}");
}
