//! How a child ended.

use crate::launch::output_limit::TruncatedOutput;
use std::time::Duration;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// It was still running at its deadline, and its tree was ended.
    TimedOut,
    /// Its tree exceeded its memory limit and was killed.
    OutOfMemory,
    /// Its tree exceeded its limit on processes and was killed.
    OutOfProcesses,
    /// It was cancelled, and its tree was killed.
    Halted,
}

/// A limit that a command has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// The memory of the whole tree, in MiB.
    #[error("memory limit reached ({0} MiB)")]
    Memory(u64),
    /// The processes of the whole tree.
    #[error("process limit reached ({0})")]
    Processes(u64),
    /// Processes and threads of the whole tree, where the kernel refuses more and does not say so.
    #[error("{seen} of {limit} processes and threads were running")]
    Tasks {
        /// The most that were seen.
        seen: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Processor time of one process.
    #[error("out of processor time (`isolation.limits.cpu_seconds`)")]
    Processor,
    /// The size of one file.
    #[error("a file became too large (`isolation.limits.file_size_mb`)")]
    FileSize,
    /// The files in the private `/tmp` and `/dev/shm`, in MiB.
    #[error("`/tmp` was full ({used} of {size} MiB)")]
    Tmp {
        /// The most that was seen there.
        used: u64,
        /// How much there may be.
        size: u64,
    },
}

impl Limit {
    /// What raises it or gets around it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Memory(_) => "raise it with `isolation.limits.memory_mb`",
            Self::Processes(_) | Self::Tasks { .. } => "raise it with `isolation.limits.processes`",
            Self::Processor => "raise it with `isolation.limits.cpu_seconds`",
            Self::FileSize => "raise it with `isolation.limits.file_size_mb`",
            Self::Tmp { .. } => "`$TMPDIR` has no such limit",
        }
    }
}

impl Status {
    /// The limit of one process that ended it, or that ended the last command of a shell, which
    /// exits with 128 + the signal's number.
    pub fn limit(self) -> Option<Limit> {
        const SIGXCPU: i32 = 24;
        const SIGXFSZ: i32 = 25;
        match self {
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
            Self::OutOfMemory | Self::OutOfProcesses | Self::Halted => 137,
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
            Self::OutOfProcesses => "out of processes".to_owned(),
            Self::Halted => "halted".to_owned(),
        }
    }
}

/// A command that has ended, and its output.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// Its standard output; with standard error, in order, when they were merged.
    pub stdout: TruncatedOutput,
    /// Its standard error.
    pub stderr: TruncatedOutput,
    /// The limit of its tree that it has reached.
    pub limit: Option<Limit>,
    /// How long it ran.
    pub duration: Duration,
}
