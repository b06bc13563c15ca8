//! Errors of hooks. Each names its hook.

use picoclaw_sandbox::CommandError;
use std::time::Duration;

/// Why a hook could not be started or called.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The program did not start.
    #[error("hook `{name}` could not be started: {source}")]
    Start {
        /// Which hook.
        name: String,
        /// Why not.
        source: CommandError,
    },
    /// It did not answer `hook.hello` in time.
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
    /// It has exited or closed its output.
    #[error("hook `{name}` is gone")]
    Gone {
        /// Which hook.
        name: String,
    },
    /// It failed repeatedly; the next start is delayed.
    #[error("hook `{name}` is down and will be restarted in {} s", wait.as_secs())]
    Down {
        /// Which hook.
        name: String,
        /// How long until the next start.
        wait: Duration,
    },
    /// It sent an error response.
    #[error("hook `{name}` failed: {message}")]
    Refused {
        /// Which hook.
        name: String,
        /// The error message.
        message: String,
    },
    /// Its result has another form than the protocol's.
    #[error("hook `{name}` sent an invalid response: {what}")]
    Garbage {
        /// Which hook.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}
