//! How a child ended.
//!
//! Invariant: a status is what the kernel said about the command, or what we did to it.

use crate::launch::clip::Clipped;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It was still running at its deadline and was ended, with all that it had started.
    TimedOut,
    /// Its tree took more memory than it may, and was ended.
    OutOfMemory,
    /// Somebody asked for its end, and it was ended at once with all that it had started.
    Halted,
}

/// A limit that a command ran into, where the kernel lets it be seen. That no more processes or open files could be had is
/// the command's own error to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// Memory of the whole tree.
    #[error("out of memory (`isolation.limits.memory_mb`)")]
    Memory,
    /// Processor time of one process.
    #[error("out of processor time (`isolation.limits.cpu_seconds`)")]
    Processor,
    /// The size of one file.
    #[error("a file became too large (`isolation.limits.file_size_mb`)")]
    FileSize,
}

impl Status {
    /// The limit that ended it, or that ended the last command of a shell, which passes the signal on as 128 + n.
    pub fn limit(self) -> Option<Limit> {
        const SIGXCPU: i32 = 24;
        const SIGXFSZ: i32 = 25;
        match self {
            Self::OutOfMemory => Some(Limit::Memory),
            Self::Signaled(SIGXCPU) | Self::Exited(152) => Some(Limit::Processor),
            Self::Signaled(SIGXFSZ) | Self::Exited(153) => Some(Limit::FileSize),
            _ => None,
        }
    }

    /// The exit code that `picoclaw run` passes on.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal,
            Self::TimedOut => 124,
            Self::OutOfMemory | Self::Halted => 137,
        }
    }

    /// The outcome as the ledger spells it.
    pub(crate) fn outcome_text(self) -> String {
        let limit = || self.limit().map(|limit| format!(": {limit}")).unwrap_or_default();
        match self {
            Self::Exited(0) => "ok".to_owned(),
            Self::Exited(code) => format!("exit {code}{}", limit()),
            Self::Signaled(signal) => format!("signal {signal}{}", limit()),
            Self::TimedOut => "timed out".to_owned(),
            Self::OutOfMemory => "out of memory".to_owned(),
            Self::Halted => "halted".to_owned(),
        }
    }

    pub(super) fn from_wait(status: i32) -> Self {
        let status = ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signaled(signal.unwrap_or(9)),
        }
    }
}

/// A command that has ended, and what it said.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// What it wrote; both streams in their order when they were merged.
    pub stdout: Clipped,
    /// What it wrote beside.
    pub stderr: Clipped,
    /// How long it took.
    pub duration: Duration,
}
