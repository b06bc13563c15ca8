//! Errors of MCP servers. None contains a secret of the configuration.

use crate::mcp::pins::{ListError, PinError};
use picoclaw_sandbox::CommandError;
use std::time::Duration;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Its program did not start.
    #[error("MCP server `{name}` could not be started: {source}")]
    Start {
        /// The server's name.
        name: String,
        /// The reason.
        source: CommandError,
    },
    /// Its configuration, or a file that it names, cannot be used.
    #[error("MCP server `{name}`: {why}")]
    Settings {
        /// The server's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// It was not ready in time.
    #[error("MCP server `{name}` was not ready within {} s", limit.as_secs_f64())]
    Slow {
        /// The server's name.
        name: String,
        /// The timeout.
        limit: Duration,
    },
    /// The handshake failed.
    #[error("MCP server `{name}` cannot be reached: {why}")]
    Handshake {
        /// The server's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// Its list of tools is invalid.
    #[error("MCP server `{name}` lists tools that cannot be used: {source}")]
    Tools {
        /// The server's name.
        name: String,
        /// The reason.
        source: ListError,
    },
    /// Its pin cannot be read or written.
    #[error("MCP server `{name}`: {source}")]
    Pin {
        /// The server's name.
        name: String,
        /// The reason.
        source: PinError,
    },
    /// Its tools are not the pinned ones.
    #[error("MCP server `{name}` changed its tools; they are withheld until `picoclaw mcp trust {name}`")]
    Changed {
        /// The server's name.
        name: String,
    },
    /// It has exited or closed the connection.
    #[error("MCP server `{name}` is gone")]
    Gone {
        /// The server's name.
        name: String,
    },
    /// It answered a call with a JSON-RPC error.
    #[error("{message}")]
    Refused {
        /// The error message.
        message: String,
    },
    /// The request or its response could not be transmitted.
    #[error("MCP server `{name}` refused the request: {why}")]
    Lost {
        /// The server's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A call timed out.
    #[error("MCP server `{name}` did not answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The server's name.
        name: String,
        /// The timeout.
        limit: Duration,
    },
    /// The call was cancelled.
    #[error("the call was stopped")]
    Halted,
}
