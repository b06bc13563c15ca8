//! Terminals of Unix.

use picoclaw_sandbox::launch::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

/// Whether [`read_input`] returns as soon as it is told to.
pub(crate) const STOPS_READING: bool = true;

/// A standard stream, or another descriptor that may be a terminal.
pub(crate) trait Stream: AsFd + IsTerminal {}

impl<T: AsFd + IsTerminal> Stream for T {}

/// Columns and rows of a terminal.
pub(crate) fn window_size(stream: impl Stream) -> Option<(u16, u16)> {
    tcgetwinsize(stream).ok().map(|size| (size.ws_col, size.ws_row))
}

/// The modes of the terminal behind standard input.
#[derive(Debug, Clone)]
pub(crate) struct InputModes(Termios);

impl InputModes {
    /// Those that it has now.
    pub(crate) fn now() -> io::Result<Self> {
        Ok(Self(tcgetattr(stdin())?))
    }

    /// Sets these modes.
    pub(crate) fn restore(&self) {
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }

    /// Sets the same modes without echo, and discards what was typed.
    pub(crate) fn hide_input(&self) -> io::Result<()> {
        let mut quiet = self.0.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        Ok(tcsetattr(stdin(), OptionalActions::Flush, &quiet)?)
    }

    /// Sets the same modes for reading key by key.
    pub(crate) fn make_raw(&self) {
        let mut raw = self.0.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &raw);
    }
}

/// Discards input that was typed and not read.
pub(crate) fn discard_input() {
    let _gone = tcflush(stdin(), QueueSelector::IFlush);
}

/// Passes input on until `closing` is cancelled, the input ends or `pass` returns false. The
/// descriptor is shared with the shell and stays blocking, so it is read only when it is ready.
pub(crate) fn read_input(closing: &CancelToken, mut pass: impl FnMut(Vec<u8>) -> bool) {
    loop {
        let mut ready = vec![PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        ready.extend(closing.event_fd().map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)));
        let waited = poll(&mut ready, None);
        if closing.is_cancelled() {
            return;
        }
        if waited.is_err() || ready.first().is_none_or(|stdin| stdin.revents().is_empty()) {
            continue;
        }
        let mut buffer = [0; 1024];
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(count) if count > 0 => {
                if !pass(buffer.get(..count).unwrap_or_default().to_vec()) {
                    return;
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            _ => return,
        }
    }
}

/// Standard input and output without `std`'s line buffering.
pub(crate) fn own_streams() -> io::Result<(File, File)> {
    let (input, output) = (io::stdin(), io::stdout());
    Ok((File::from(input.as_fd().try_clone_to_owned()?), File::from(output.as_fd().try_clone_to_owned()?)))
}

/// Whether the reading end of standard output is closed.
pub(crate) fn is_stdout_closed() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // A pipe without a reader always reports an error.
    poll(&mut polled, Some(&now))
        .is_ok_and(|ready| ready > 0 && polled[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL))
}
