//! Raw keyboard input during a turn. The terminal settings are restored when the session ends,
//! however it ends.

use crate::console::{self, InputModes};
use crate::style::Liveness;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::suspend_program;
use std::io;
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc::{Receiver, channel};

/// The terminal settings before the session.
#[derive(Debug, Clone)]
pub(super) struct TerminalState(Option<InputModes>);

impl TerminalState {
    /// Saves the current settings.
    pub(super) fn now() -> Self {
        Self(InputModes::now().ok())
    }

    /// Whether standard input is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.0.is_some()
    }

    /// Restores the settings.
    pub(super) fn restore(&self) {
        if let Some(settings) = &self.0 {
            settings.restore();
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
        let reader =
            reader.spawn(move || console::read_input(&until, |bytes| told.blocking_send(bytes).is_ok()))?;
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
            if console::STOPS_READING {
                let _crashed = reader.join();
            }
        }
    }

    /// Discards input that was typed before a question was shown.
    pub(super) fn forget(&self) {
        console::discard_input();
    }

    /// Suspends this process as Ctrl-Z does, and continues when it is resumed.
    pub(super) fn suspend(&self) {
        self.found.restore();
        suspend_program();
        self.make_raw();
    }

    fn make_raw(&self) {
        let (Some(found), Liveness::Live) = (&self.found.0, self.liveness) else { return };
        found.make_raw();
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        self.close();
        self.found.restore();
    }
}
