//! A list of tools on its way: page by page, until the last.
//!
//! Invariant: a listing ends, with a whole list or with the reason why there is none.

use super::super::pins::{MOST_BYTES, MOST_TOOLS, ToolList};
use super::frame::{Frame, Id, Outcome};
use serde_json::{Map, Value};

/// Pages that one list may have.
const MOST_PAGES: usize = 256;

/// What of a page's result is passed on beside the tools: none of it is read by a model.
const KEPT: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "_meta"];

/// A list being collected.
#[derive(Debug)]
pub(super) struct Listing {
    /// The request that is under way.
    pub(super) id: Id,
    /// Whether the server has said meanwhile that its list changed.
    pub(super) is_stale: bool,
    params: Map<String, Value>,
    tools: Vec<Value>,
    rest: Map<String, Value>,
    bytes: usize,
    pages: usize,
}

/// What a page came to.
#[derive(Debug)]
pub(super) enum Page {
    /// There is another one: ask for it.
    More,
    /// That was the last.
    Whole(ToolList, Map<String, Value>),
    /// The server would not say; its own error.
    Failed(String),
    /// What it said is no list.
    Bad(String),
}

impl Listing {
    /// Begins one, with what the host said in its own request.
    pub(super) fn new(id: Id, params: Map<String, Value>) -> Self {
        let (tools, rest) = (Vec::new(), Map::new());
        Self { id, is_stale: false, params, tools, rest, bytes: 0, pages: 0 }
    }

    /// The request for the page that is next.
    pub(super) fn request(&self) -> Frame {
        let params = (!self.params.is_empty()).then(|| Value::Object(self.params.clone()).to_string());
        Frame::Request { id: self.id.clone(), method: "tools/list".to_owned(), params }
    }

    /// Takes the server's answer.
    pub(super) fn take(&mut self, outcome: Outcome, next: impl FnOnce() -> Id) -> Page {
        let result = match outcome {
            Outcome::Error(error) => return Page::Failed(error),
            Outcome::Result(result) => result,
        };
        self.bytes += result.len();
        self.pages += 1;
        let Ok(Value::Object(mut result)) = serde_json::from_str(&result) else {
            return Page::Bad("the answer is no object".to_owned());
        };
        let Some(Value::Array(tools)) = result.remove("tools") else {
            return Page::Bad("the answer has no `tools`".to_owned());
        };
        self.tools.extend(tools);
        // Escapes may be longer than what they stand for; the list itself is measured when it is whole.
        if self.tools.len() > MOST_TOOLS || self.bytes > 4 * MOST_BYTES {
            return Page::Bad("the list is too long".to_owned());
        }
        match result.remove("nextCursor") {
            None | Some(Value::Null) => {}
            Some(Value::String(_)) if self.pages >= MOST_PAGES => {
                return Page::Bad(format!("more than {MOST_PAGES} pages"));
            }
            Some(cursor @ Value::String(_)) => {
                self.params.insert("cursor".to_owned(), cursor);
                self.id = next();
                return Page::More;
            }
            Some(_) => return Page::Bad("the cursor is no text".to_owned()),
        }
        self.rest.extend(result.into_iter().filter(|(name, _)| KEPT.contains(&name.as_str())));
        match ToolList::new(std::mem::take(&mut self.tools)) {
            Ok(list) => Page::Whole(list, std::mem::take(&mut self.rest)),
            Err(why) => Page::Bad(why.to_string()),
        }
    }
}
