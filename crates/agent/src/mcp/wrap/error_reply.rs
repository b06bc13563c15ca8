//! Error responses of the proxy itself. Each names picoclaw as its source.

use super::list_kind::ListKind;
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
    /// The server's list is not the pinned one.
    Withheld {
        /// Which list.
        kind: ListKind,
        /// The server's name.
        name: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// The name is not in the list.
    Unlisted {
        /// Which list.
        kind: ListKind,
        /// The name.
        name: &'a str,
    },
    /// The server may not ask this of its host.
    NotAllowed {
        /// What it asks.
        method: &'a str,
        /// The flag that would allow it.
        flag: Option<&'static str>,
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
            Self::NotAllowed { .. } => -32601,
            Self::Withheld { .. } | Self::TooMany | Self::TooLong => -32000,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Withheld { kind: ListKind::Tools, .. } => "tools_withheld",
            Self::Withheld { kind: ListKind::Prompts, .. } => "prompts_withheld",
            Self::Withheld { kind: ListKind::ResourceTemplates, .. } => "resource_templates_withheld",
            Self::Unlisted { kind: ListKind::Tools, .. } => "tool_not_listed",
            Self::Unlisted { .. } => "prompt_not_listed",
            Self::NotAllowed { .. } => "not_allowed",
            Self::Cursor => "unknown_cursor",
            Self::Nameless => "no_tool_name",
            Self::InUse => "id_in_use",
            Self::TooMany => "too_many_requests",
            Self::TooLong => "answer_too_long",
            Self::Batch => "batch",
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Withheld { kind, name, why } => format!(
                "picoclaw: the {} of `{name}` are withheld: {why}; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents",
                kind.noun()
            ),
            Self::Unlisted { kind, name } => {
                format!("picoclaw: `{name}` is not among the {} that are pinned for this server", kind.noun())
            }
            Self::NotAllowed { method, flag: Some(flag) } => {
                format!(
                    "picoclaw: the server asks for `{method}`, which `{flag}` of `picoclaw mcp wrap` would allow"
                )
            }
            Self::NotAllowed { method, flag: None } => {
                format!("picoclaw: the server asks for `{method}`, which is not passed on")
            }
            Self::Cursor => "picoclaw: the list of tools has one page, so there is no cursor".to_owned(),
            Self::Nameless => "picoclaw: the call names no tool, or more than one".to_owned(),
            Self::InUse => "picoclaw: a request with this id is already in progress".to_owned(),
            Self::TooMany => "picoclaw: too many requests are under way".to_owned(),
            Self::TooLong => "picoclaw: the server answered with a longer line than is passed on".to_owned(),
            Self::Batch => "picoclaw: batches are not passed on".to_owned(),
        }
    }
}
