//! What goes wrong with a server.
//!
//! Invariant: every failure names the server, and none carries a secret of its configuration.

use crate::mcp::pins::{ListError, PinError};
use picoclaw_sandbox::helper::HelperError;
use std::time::Duration;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Its program did not start.
    #[error("MCP server `{name}` could not be started: {source}")]
    Start {
        /// Which.
        name: String,
        /// Why not.
        source: HelperError,
    },
    /// A file that its configuration names cannot be used.
    #[error("MCP server `{name}`: {why}")]
    Settings {
        /// Which.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// It did not come up in time.
    #[error("MCP server `{name}` was not ready within {} s", limit.as_secs_f64())]
    Slow {
        /// Which.
        name: String,
        /// How long it had.
        limit: Duration,
    },
    /// It does not speak the protocol.
    #[error("MCP server `{name}` could not be spoken to: {why}")]
    Handshake {
        /// Which.
        name: String,
        /// What happened.
        why: String,
    },
    /// Its list of tools is none.
    #[error("MCP server `{name}` lists tools that cannot be used: {source}")]
    Tools {
        /// Which.
        name: String,
        /// What is wrong.
        source: ListError,
    },
    /// Its pin cannot be read or written.
    #[error("MCP server `{name}`: {source}")]
    Pin {
        /// Which.
        name: String,
        /// Why not.
        source: PinError,
    },
    /// It shows other tools than it did.
    #[error("MCP server `{name}` changed its tools; they are withheld until `picoclaw mcp trust {name}`")]
    Changed {
        /// Which.
        name: String,
    },
    /// It is gone.
    #[error("MCP server `{name}` is gone")]
    Gone {
        /// Which.
        name: String,
    },
    /// It answered a call with an error of the protocol.
    #[error("{message}")]
    Refused {
        /// What it said.
        message: String,
    },
    /// A call did not get through to it, or its answer back.
    #[error("MCP server `{name}` could not be asked: {why}")]
    Lost {
        /// Which.
        name: String,
        /// What happened.
        why: String,
    },
    /// A call took too long.
    #[error("MCP server `{name}` did not answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// Which.
        name: String,
        /// How long it had.
        limit: Duration,
    },
    /// Nobody waits for the answer any more.
    #[error("the call was stopped")]
    Halted,
}
