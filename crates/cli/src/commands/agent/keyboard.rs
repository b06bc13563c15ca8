//! The keyboard while a turn runs: keys one by one, and the terminal given back afterwards.
//!
//! Invariant: the settings that were found are the settings that are left, whichever way the session ends.

use super::style::Liveness;
use picoclaw_sandbox::relay::suspend_program;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// The terminal's settings as they were before the session.
#[derive(Debug, Clone)]
pub(super) struct Found(Option<Termios>);

impl Found {
    /// Remembers how the terminal is set now.
    pub(super) fn now() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    /// Whether there is one.
    pub(super) fn is_terminal(&self) -> bool {
        self.0.is_some()
    }

    /// Gives the terminal back as it was.
    pub(super) fn restore(&self) {
        if let Some(settings) = &self.0 {
            let _gone = tcsetattr(stdin(), OptionalActions::Now, settings);
        }
    }
}

/// Keys while a turn runs. Dropping it gives the terminal back.
pub(super) struct Keyboard {
    input: AsyncFd<OwnedFd>,
    found: Found,
    liveness: Liveness,
}

impl Keyboard {
    /// Takes the keyboard: keys come one by one on a live terminal, and line by line, echoed, on another.
    pub(super) fn take(liveness: Liveness) -> io::Result<Self> {
        let found = Found::now();
        // A copy, so that what the runtime watches is closed with this value.
        let input = AsyncFd::register(rustix::io::dup(stdin())?)?;
        let keyboard = Self { input, found, liveness };
        keyboard.make_raw();
        Ok(keyboard)
    }

    /// The next bytes; none when the terminal is gone.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        let mut ready = self.input.readable().await?;
        let mut buffer = [0; 1024];
        let count = rustix::io::read(self.input.get_ref(), &mut buffer)?;
        // The descriptor is shared with the shell and must keep blocking: after a short read nothing is left to read.
        if count < buffer.len() {
            ready.clear_ready();
        }
        Ok(buffer.get(..count).unwrap_or_default().to_vec())
    }

    /// Forgets what was typed ahead: it was not meant for a question that nobody had seen.
    pub(super) fn forget(&self) {
        let _gone = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// Stops this program as the suspend key does, and goes on when it is continued.
    pub(super) fn suspend(&self) {
        self.found.restore();
        suspend_program();
        self.make_raw();
    }

    fn make_raw(&self) {
        let (Some(found), Liveness::Live) = (&self.found.0, self.liveness) else { return };
        let mut raw = found.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &raw);
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.found.restore();
    }
}
