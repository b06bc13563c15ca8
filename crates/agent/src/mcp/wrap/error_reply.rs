//! Error responses of the proxy itself. Each names picoclaw as its source.

use crate::jsonrpc::{Id, Message, Outcome};
use serde_json::json;

/// The error response to request `id`, as a line.
pub(super) fn error_reply(id: &Id, why: &ProxyError<'_>) -> Vec<u8> {
    let error = json!({"code": why.code(), "message": why.message(), "data": {"source": "picoclaw", "code": why.name()}});
    Message::Response { id: id.clone(), outcome: Outcome::Error(error.to_string()) }.to_line()
}

/// The error response to a line whose id cannot be read, as a line.
pub(super) fn parse_error_reply(why: &str) -> Vec<u8> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": format!("picoclaw: {why}")}});
    format!("{error}\n").into_bytes()
}

/// Why the proxy refuses a request.
#[derive(Debug, Clone)]
pub(super) enum ProxyError<'a> {
    /// The server's tools are not the pinned ones.
    Withheld {
        /// The server's name.
        name: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// The tool is not in the list.
    Unlisted {
        /// The called tool.
        tool: &'a str,
    },
    /// A cursor, although the list has one page.
    Cursor,
    /// The request has no tool name, or two.
    Nameless,
    /// The id is in use.
    InUse,
    /// Too many requests at once.
    TooMany,
    /// The response exceeds the maximum length of a line.
    TooLong,
    /// A batch.
    Batch,
}

impl ProxyError<'_> {
    fn code(&self) -> i32 {
        match self {
            Self::Unlisted { .. } | Self::Cursor | Self::Nameless => -32602,
            Self::InUse | Self::Batch => -32600,
            Self::Withheld { .. } | Self::TooMany | Self::TooLong => -32000,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Withheld { .. } => "tools_withheld",
            Self::Unlisted { .. } => "tool_not_listed",
            Self::Cursor => "unknown_cursor",
            Self::Nameless => "no_tool_name",
            Self::InUse => "id_in_use",
            Self::TooMany => "too_many_requests",
            Self::TooLong => "answer_too_long",
            Self::Batch => "batch",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Withheld { name, why } => format!(
                "picoclaw: the tools of `{name}` are withheld: {why}; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents"
            ),
            Self::Unlisted { tool } => {
                format!("picoclaw: `{tool}` is not among the tools that are pinned for this server")
            }
            Self::Cursor => "picoclaw: the list of tools has one page, so there is no cursor".to_owned(),
            Self::Nameless => "picoclaw: the call names no tool, or more than one".to_owned(),
            Self::InUse => "picoclaw: a request with this id is under way already".to_owned(),
            Self::TooMany => "picoclaw: too many requests are under way".to_owned(),
            Self::TooLong => "picoclaw: the server answered with a longer line than is passed on".to_owned(),
            Self::Batch => "picoclaw: batches are not passed on".to_owned(),
        }
    }
}
