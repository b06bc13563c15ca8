//! Raw keyboard input during a turn. The terminal settings are restored when the session ends,
//! however it ends.

use crate::style::Liveness;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::suspend_program;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use std::io;
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The terminal settings before the session.
#[derive(Debug, Clone)]
pub(super) struct TerminalState(Option<Termios>);

impl TerminalState {
    /// Saves the current settings.
    pub(super) fn now() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    /// Whether standard input is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.0.is_some()
    }

    /// Restores the settings.
    pub(super) fn restore(&self) {
        if let Some(settings) = &self.0 {
            let _gone = tcsetattr(stdin(), OptionalActions::Now, settings);
        }
    }
}

/// Keyboard input during a turn. Dropping it restores the terminal.
pub(super) struct RawInput {
    heard: Receiver<Vec<u8>>,
    reader: Option<JoinHandle<()>>,
    closing: CancelToken,
    found: TerminalState,
    liveness: Liveness,
}

impl RawInput {
    /// Starts reading: key by key on a live terminal, else line by line with echo.
    pub(super) fn open(liveness: Liveness) -> io::Result<Self> {
        let (found, closing) = (TerminalState::now(), CancelToken::new());
        let (told, heard) = channel(16);
        let until = closing.clone();
        let reader = thread::Builder::new().name("keyboard".to_owned()).stack_size(256 << 10);
        let reader = reader.spawn(move || read_stdin(&told, &until))?;
        let keyboard = Self { heard, reader: Some(reader), closing, found, liveness };
        keyboard.make_raw();
        Ok(keyboard)
    }

    /// The next bytes; `None` when the terminal is gone.
    pub(super) async fn read(&mut self) -> Option<Vec<u8>> {
        self.heard.recv().await
    }

    /// The bytes not read yet; closes the input.
    pub(super) fn remaining(&mut self) -> Vec<u8> {
        self.close();
        let mut rest = Vec::new();
        while let Ok(bytes) = self.heard.try_recv() {
            rest.extend(bytes);
        }
        rest
    }

    fn close(&mut self) {
        self.closing.cancel();
        if let Some(reader) = self.reader.take() {
            // A full channel would keep the reader from noticing the end.
            self.heard.close();
            let _crashed = reader.join();
        }
    }

    /// Discards input that was typed before a question was shown.
    pub(super) fn forget(&self) {
        let _gone = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// Suspends this process as Ctrl-Z does, and continues when it is resumed.
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

/// Forwards input until the reader is closed. The descriptor is shared with the shell and stays
/// blocking, so it is read only when it is ready.
fn read_stdin(told: &Sender<Vec<u8>>, closing: &CancelToken) {
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
                let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                if told.blocking_send(bytes).is_err() {
                    return;
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            _ => return,
        }
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        self.close();
        self.found.restore();
    }
}
