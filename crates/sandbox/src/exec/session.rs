//! A command in the background: what it said, what it is told, and its record when it is over.
//!
//! Invariant: a session ends with exactly one closing record, also when it is dropped.

use crate::launch::{Background, BackgroundError, State, TruncatedOutput};
use crate::permit::Settling;
use picoclaw_policy::shell::guard::Judgement;
use std::path::Path;
use std::sync::Mutex;

/// Shells: what is typed into one of these is a command.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "csh", "tcsh", "rbash"];

/// What a session's input goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A shell, or something that may be one: its input is judged.
    Shell,
    /// Anything else: its input is its own affair.
    Other,
}

impl Program {
    /// What reads the input of a command line. What cannot be known counts as a shell.
    pub(super) fn of(judgement: &Judgement) -> Self {
        if judgement.commands.is_empty() {
            return Self::Shell;
        }
        let reads_commands = judgement.commands.iter().any(|command| {
            let name = command.argv.first().map_or("…", String::as_str);
            let base = Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or("…");
            base.contains('…') || SHELLS.contains(&base.trim_start_matches('-'))
        });
        if reads_commands { Self::Shell } else { Self::Other }
    }
}

/// A command in the background.
#[derive(Debug)]
pub struct Session {
    background: Background,
    settling: Mutex<Option<Settling>>,
    command: String,
    program: Program,
}

impl Session {
    pub(super) fn new(background: Background, settling: Settling, command: String, program: Program) -> Self {
        Self { background, settling: Mutex::new(Some(settling)), command, program }
    }

    /// The command, as it was written.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What its input goes to.
    pub fn program(&self) -> Program {
        self.program
    }

    /// The process that was started.
    pub fn pid(&self) -> i32 {
        self.background.pid()
    }

    /// Whether it still runs; when it does not any more, that is recorded.
    pub fn state(&self) -> State {
        let state = self.background.state();
        self.note(&state);
        state
    }

    /// What it said since the last time.
    pub(super) fn take_output(&self) -> TruncatedOutput {
        self.background.take_output()
    }

    /// Types text.
    pub(super) fn write(&self, text: &str) -> Result<(), BackgroundError> {
        self.background.write(text.as_bytes())
    }

    /// Presses keys.
    pub(super) fn send_keys(&self, keys: &str) -> Result<(), BackgroundError> {
        self.background.send_keys(keys)
    }

    /// Ends it, and everything that it started.
    pub(super) fn kill(&self) -> State {
        let state = self.background.kill();
        self.note(&state);
        state
    }

    fn note(&self, state: &State) {
        let State::Ended(status) = state else { return };
        let settling = self.settling.lock().ok().and_then(|mut held| held.take());
        if let Some(settling) = settling {
            settling.settle_as(&status.outcome_text());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}
