//! The console of Windows. Input is read line by line.

use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::console;
use std::fs::File;
use std::io::{self, IsTerminal, Read as _};
use std::os::windows::io::AsHandle;

/// Whether [`read_input`] returns as soon as it is told to. A read from the console cannot be
/// ended.
pub(crate) const STOPS_READING: bool = false;

/// A standard stream, or another handle that may be a console.
pub(crate) trait Stream: AsHandle + IsTerminal {}

impl<T: AsHandle + IsTerminal> Stream for T {}

/// Columns and rows of a console.
pub(crate) fn window_size(stream: impl Stream) -> Option<(u16, u16)> {
    console::window_size(stream.as_handle()).ok()
}

/// The modes of the console behind standard input.
#[derive(Debug, Clone)]
pub(crate) struct InputModes(console::Modes);

impl InputModes {
    /// Those that it has now.
    pub(crate) fn now() -> io::Result<Self> {
        Ok(Self(console::modes(io::stdin().as_handle())?))
    }

    /// Sets these modes.
    pub(crate) fn restore(&self) {
        let _gone = console::set_modes(io::stdin().as_handle(), self.0);
    }

    /// Sets the same modes without echo, and discards what was typed.
    pub(crate) fn hide_input(&self) -> io::Result<()> {
        discard_input();
        console::set_modes(io::stdin().as_handle(), self.0.without_echo())
    }

    /// Keys are not read one by one here.
    pub(crate) fn make_raw(&self) {}
}

/// Discards input that was typed and not read.
pub(crate) fn discard_input() {
    let _gone = console::discard_input(io::stdin().as_handle());
}

/// Passes input on until the input ends, `pass` returns false, or `closing` was cancelled and one
/// more line came.
pub(crate) fn read_input(closing: &CancelToken, mut pass: impl FnMut(Vec<u8>) -> bool) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
        if closing.is_cancelled() || !pass(buffer.get(..count).unwrap_or_default().to_vec()) {
            return;
        }
    }
}

/// Standard input and output without `std`'s line buffering.
pub(crate) fn own_streams() -> io::Result<(File, File)> {
    let (input, output) = (io::stdin(), io::stdout());
    Ok((
        File::from(input.as_handle().try_clone_to_owned()?),
        File::from(output.as_handle().try_clone_to_owned()?),
    ))
}

/// Not known before a write fails.
pub(crate) fn is_stdout_closed() -> bool {
    false
}
