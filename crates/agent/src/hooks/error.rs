//! Why a hook could not be asked.
//!
//! Invariant: every failure names the hook.

use picoclaw_sandbox::helper::HelperError;
use std::time::Duration;

/// Why a hook could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The program did not start.
    #[error("hook `{name}` could not be started: {source}")]
    Start {
        /// Which hook.
        name: String,
        /// Why not.
        source: HelperError,
    },
    /// It did not say hello in time.
    #[error("hook `{name}` did not answer hello within {} s", limit.as_secs())]
    Hello {
        /// Which hook.
        name: String,
        /// How long it had.
        limit: Duration,
    },
    /// It did not answer in time.
    #[error("hook `{name}` timed out after {} ms", limit.as_millis())]
    TimedOut {
        /// Which hook.
        name: String,
        /// How long it had.
        limit: Duration,
    },
    /// It is gone, or its pipe is.
    #[error("hook `{name}` is gone")]
    Gone {
        /// Which hook.
        name: String,
    },
    /// It failed too often, and is left alone for a while.
    #[error("hook `{name}` is down and is started again in {} s", wait.as_secs())]
    Down {
        /// Which hook.
        name: String,
        /// How long until the next try.
        wait: Duration,
    },
    /// It answered with an error of its own.
    #[error("hook `{name}` failed: {message}")]
    Refused {
        /// Which hook.
        name: String,
        /// What it said.
        message: String,
    },
    /// What it answered is not what was asked for.
    #[error("hook `{name}` answered what nobody can read: {what}")]
    Garbage {
        /// Which hook.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}
