//! Collects the pages of a list into one, within bounds.

use super::super::pins::{MAX_TOOL_BYTES, MAX_TOOLS, ToolList};
use super::list_kind::{ListKind, list_members};
use crate::jsonrpc::{Id, Message, Outcome};
use serde_json::{Map, Value};

/// Pages of one list.
const MAX_PAGES: usize = 256;

/// A list that is being collected.
#[derive(Debug)]
pub(super) struct ListPages {
    kind: ListKind,
    /// The id of the pending request.
    pub(super) id: Id,
    /// Whether the server has announced a change since the first request.
    pub(super) is_stale: bool,
    params: Map<String, Value>,
    tools: Vec<Value>,
    rest: Map<String, Value>,
    bytes: usize,
    pages: usize,
}

/// The result of adding a page.
#[derive(Debug)]
pub(super) enum PageResult {
    /// Another page follows: send [`ListPages::request`].
    More,
    /// The list is complete; the members to forward with it.
    Complete(ToolList, Map<String, Value>),
    /// The server's error response.
    ServerError(String),
    /// The response is not a valid list.
    Invalid(String),
}

impl ListPages {
    /// A new list, with the parameters of the host's request.
    pub(super) fn new(kind: ListKind, id: Id, params: Map<String, Value>) -> Self {
        let (tools, rest) = (Vec::new(), Map::new());
        Self { kind, id, is_stale: false, params, tools, rest, bytes: 0, pages: 0 }
    }

    /// The request for the next page.
    pub(super) fn request(&self) -> Message {
        let params = (!self.params.is_empty()).then(|| Value::Object(self.params.clone()).to_string());
        Message::Request { id: self.id.clone(), method: self.kind.list_method().to_owned(), params }
    }

    /// Adds the server's response; `next_id` is the id of the request for the next page.
    pub(super) fn add(&mut self, outcome: Outcome, next_id: impl FnOnce() -> Id) -> PageResult {
        let result = match outcome {
            Outcome::Error(error) => return PageResult::ServerError(error),
            Outcome::Result(result) => result,
        };
        self.bytes += result.len();
        self.pages += 1;
        let Ok(Value::Object(mut result)) = serde_json::from_str(&result) else {
            return PageResult::Invalid("the response is not an object".to_owned());
        };
        let Some(Value::Array(tools)) = result.remove(self.kind.member()) else {
            return PageResult::Invalid(format!("the answer has no `{}`", self.kind.member()));
        };
        self.tools.extend(tools);
        // Escapes may be longer than their characters; `ToolList` measures the list itself.
        if self.tools.len() > MAX_TOOLS || self.bytes > 4 * MAX_TOOL_BYTES {
            return PageResult::Invalid("the list is too long".to_owned());
        }
        match result.remove("nextCursor") {
            None | Some(Value::Null) => {}
            Some(Value::String(_)) if self.pages >= MAX_PAGES => {
                return PageResult::Invalid(format!("more than {MAX_PAGES} pages"));
            }
            Some(cursor @ Value::String(_)) => {
                self.params.insert("cursor".to_owned(), cursor);
                self.id = next_id();
                return PageResult::More;
            }
            Some(_) => return PageResult::Invalid("the cursor is not a string".to_owned()),
        }
        self.rest.extend(list_members(&result));
        match self.kind.pinned(std::mem::take(&mut self.tools)) {
            Ok(list) => PageResult::Complete(list, std::mem::take(&mut self.rest)),
            Err(why) => PageResult::Invalid(why.to_string()),
        }
    }
}
