//! The keyboard while a turn runs: keys one by one, and the terminal given back afterwards.
//!
//! Invariant: the settings that were found are the settings that are left, whichever way the session ends.

use super::style::Liveness;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::terminal::suspend_program;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use std::io;
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc::{Receiver, Sender, channel};

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
    heard: Receiver<Vec<u8>>,
    reader: Option<JoinHandle<()>>,
    closing: CancelToken,
    found: Found,
    liveness: Liveness,
}

impl Keyboard {
    /// Takes the keyboard: keys come one by one on a live terminal, and line by line, echoed, on another.
    pub(super) fn take(liveness: Liveness) -> io::Result<Self> {
        let (found, closing) = (Found::now(), CancelToken::new());
        let (told, heard) = channel(16);
        let until = closing.clone();
        let reader = thread::Builder::new().name("keyboard".to_owned()).stack_size(256 << 10);
        let reader = reader.spawn(move || listen(&told, &until))?;
        let keyboard = Self { heard, reader: Some(reader), closing, found, liveness };
        keyboard.make_raw();
        Ok(keyboard)
    }

    /// The next bytes; none when the terminal is gone.
    pub(super) async fn read(&mut self) -> Option<Vec<u8>> {
        self.heard.recv().await
    }

    /// Bytes that came and nobody waited for; nothing more comes afterwards.
    pub(super) fn rest(&mut self) -> Vec<u8> {
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
            // A full channel would keep the reader from seeing that it is to end.
            self.heard.close();
            let _crashed = reader.join();
        }
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

/// Passes on what is typed until the keyboard is let go. The descriptor is shared with the shell and keeps blocking, so
/// it is read only when something is there.
fn listen(told: &Sender<Vec<u8>>, closing: &CancelToken) {
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

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.close();
        self.found.restore();
    }
}
