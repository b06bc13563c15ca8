//! What the wrap itself answers a host, in place of the server.
//!
//! Invariant: an answer of ours says that it is ours, and why.

use super::frame::{Frame, Id, Outcome};
use serde_json::{Map, Value, json};

/// Answers `id` with this error.
pub(super) fn refuse(id: &Id, why: &Refused<'_>) -> Frame {
    let error = json!({"code": why.code(), "message": why.message(), "data": {"source": "picoclaw", "code": why.name()}});
    Frame::Response { id: id.clone(), outcome: Outcome::Error(error.to_string()) }
}

/// Answers nobody in particular: what arrived had no id that could be read.
pub(super) fn unreadable(why: &str) -> Vec<u8> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": format!("picoclaw: {why}")}});
    format!("{error}\n").into_bytes()
}

/// Answers `id` with this result.
pub(super) fn answer(id: &Id, result: &Map<String, Value>) -> Frame {
    let result = Value::Object(result.clone()).to_string();
    Frame::Response { id: id.clone(), outcome: Outcome::Result(result) }
}

/// Why the wrap refuses a request.
#[derive(Debug, Clone)]
pub(super) enum Refused<'w> {
    /// The server's tools are not the pinned ones.
    Withheld {
        /// What a person calls the server.
        name: &'w str,
        /// What is the matter with them.
        why: &'w str,
    },
    /// There is no such tool in the list.
    Unlisted {
        /// What was called.
        tool: &'w str,
    },
    /// A cursor that was never given.
    Cursor,
    /// The request has no tool's name, or two.
    Nameless,
    /// An id that is in use.
    InUse,
    /// More requests at once than are kept.
    TooMany,
    /// The answer was longer than a line may be.
    TooLong,
    /// A batch.
    Batch,
}

impl Refused<'_> {
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
