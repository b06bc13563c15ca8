//! A command in the background.
//!
//! A session ends with exactly one closing record, also when it is dropped.

use crate::broker::{CommandNetwork, NetworkReport};
use crate::launch::{Background, BackgroundError, State, TruncatedOutput};
use crate::permit::OutcomeGuard;
use crate::protect::{Report, Watch};
use picoclaw_policy::shell::guard::{Judgement, is_shell};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// Programs that start a person's shell where no command is given.
const START_A_SHELL: [&str; 7] = ["chroot", "newgrp", "screen", "script", "su", "tmux", "unshare"];

/// What reads a session's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A shell, or something that may be one: its input is judged.
    Shell,
    /// Anything else: its input is not judged.
    Other,
}

impl Program {
    /// What reads the input of a command. An unknown program counts as a shell.
    pub(super) fn of(judgement: &Judgement) -> Self {
        if judgement.commands.is_empty() {
            return Self::Shell;
        }
        let reads_commands = judgement.commands.iter().any(|command| {
            let name = command.argv.first().map_or("…", String::as_str);
            let base = Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or("…");
            base.contains('…') || is_shell(base.trim_start_matches('-')) || START_A_SHELL.contains(&base)
        });
        if reads_commands { Self::Shell } else { Self::Other }
    }
}

/// What a command met beside its output.
#[derive(Debug, Clone, Default)]
pub struct CommandReport {
    /// What became of the protected files of the workspace.
    pub protected: Report,
    /// The hosts that it did not reach.
    pub network: NetworkReport,
}

/// A command in the background.
#[derive(Debug)]
pub struct Session {
    background: Background,
    /// The network that it shares with its owner's other commands.
    network: Option<CommandNetwork>,
    /// The record of its end, and the watch over protected files.
    end: Mutex<Option<(OutcomeGuard, Watch)>>,
    /// Once it has ended.
    report: OnceLock<CommandReport>,
    command: String,
    program: Program,
}

impl Session {
    pub(super) fn new(
        background: Background,
        network: Option<CommandNetwork>,
        end: (OutcomeGuard, Watch),
        command: String,
        program: Program,
    ) -> Self {
        let end = Mutex::new(Some(end));
        Self { background, network, end, report: OnceLock::new(), command, program }
    }

    /// The network that its owner's other commands share with it.
    pub fn network(&self) -> Option<&CommandNetwork> {
        self.network.as_ref()
    }

    /// The command, as it was written.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What reads its input.
    pub fn program(&self) -> Program {
        self.program
    }

    /// The PID of its supervisor.
    pub fn pid(&self) -> i32 {
        self.background.pid()
    }

    /// Whether it still runs; records its end when it has ended.
    pub fn state(&self) -> State {
        let state = self.background.state();
        self.record_end(&state);
        state
    }

    /// What it met beside its output, once its end was seen.
    pub fn report(&self) -> Option<&CommandReport> {
        self.report.get()
    }

    /// Its output since the last call.
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

    /// Kills its process tree.
    pub(super) fn kill(&self) -> State {
        let state = self.background.kill();
        self.record_end(&state);
        state
    }

    fn record_end(&self, state: &State) {
        let State::Ended(status) = state else { return };
        let end = self.end.lock().ok().and_then(|mut end| end.take());
        if let Some((outcome, protected)) = end {
            let report = self.report.get_or_init(|| CommandReport {
                protected: protected.settle(outcome, *status),
                network: self.network.as_ref().map(CommandNetwork::take_report).unwrap_or_default(),
            });
            if let Some(line) = report.protected.line() {
                tracing::warn!(target: "isolation", "{line}");
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}
