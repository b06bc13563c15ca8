//! One list of the server: collected as a whole, compared with its pin, and only then shown; what
//! it names can be used only while it is accepted.

use super::super::pins::{PinKey, PinStatus, Pins, ToolList};
use super::error_reply::{ProxyError, error_reply};
use super::list_kind::ListKind;
use super::list_pages::{ListPages, PageResult};
use super::proxy::{Requests, parse_object};
use crate::jsonrpc::{Id, Message, Outcome};
use picoclaw_sandbox::line_proxy::FilterOutput;
use picoclaw_sandbox::printable;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Lists requested in a row because the server announced a change during the last one.
const MAX_STALE_LISTS: usize = 3;

pub(super) const CHANGED: &str = "they are not the ones that were pinned";

/// One list and the requests of the host that wait for it.
#[derive(Debug)]
pub(super) struct PinnedList {
    kind: ListKind,
    key: PinKey,
    state: ListState,
    /// The list that is being collected.
    pages: Option<ListPages>,
    /// The `_meta` of the host's last request that needed a list.
    host_meta: Map<String, Value>,
    stale_lists: usize,
    /// List requests of the host that wait for the list.
    waiting_lists: Vec<Id>,
    /// Requests of the host that use something of the list, and wait for it.
    waiting_calls: Vec<WaitingCall>,
    /// The hash of the last list that was reported as changed or new.
    noted_hash: Option<String>,
}

/// What is known about the list.
#[derive(Debug)]
enum ListState {
    Unknown,
    /// The pinned one.
    Accepted(ToolList),
    /// Another one than the pinned one.
    Withheld(ToolList),
}

#[derive(Debug)]
struct WaitingCall {
    id: Id,
    name: String,
    message: Message,
}

impl PinnedList {
    pub(super) fn new(kind: ListKind, key: &PinKey) -> Self {
        Self {
            kind,
            key: kind.section().map_or_else(|| key.clone(), |section| key.section(section)),
            state: ListState::Unknown,
            pages: None,
            host_meta: Map::new(),
            stale_lists: 0,
            waiting_lists: Vec::new(),
            waiting_calls: Vec::new(),
            noted_hash: None,
        }
    }

    pub(super) fn kind(&self) -> ListKind {
        self.kind
    }

    /// Whether the list is being collected.
    pub(super) fn is_collecting(&self) -> bool {
        self.pages.is_some()
    }

    /// How many requests of the host wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting_lists.len() + self.waiting_calls.len()
    }

    /// Whether a request of this id waits here, or was made by this list.
    pub(super) fn uses(&self, id: &Id) -> bool {
        self.waiting_lists.contains(id)
            || self.waiting_calls.iter().any(|call| call.id == *id)
            || self.asked(id)
    }

    /// Whether this list made the request of this id.
    pub(super) fn asked(&self, id: &Id) -> bool {
        self.pages.as_ref().is_some_and(|pages| pages.id == *id)
    }

    /// The server says that the list has changed.
    pub(super) fn on_changed(&mut self) {
        self.state = ListState::Unknown;
        self.pages.iter_mut().for_each(|pages| pages.is_stale = true);
    }

    /// Drops a request that waits here; whether there was one.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let waiting = self.waiting();
        self.waiting_lists.retain(|known| known != id);
        self.waiting_calls.retain(|call| call.id != *id);
        waiting > self.waiting()
    }

    /// Gives up a list whose answer was too long.
    pub(super) fn on_oversized(&mut self, requests: &mut Requests, out: &mut FilterOutput) {
        if self.pages.take().is_some() {
            self.withhold("the list is longer than a line may be", requests, out);
        }
    }

    /// Requests the list anew each time, since the server may have changed it.
    pub(super) fn on_list_request(
        &mut self,
        id: Id,
        params: Option<&str>,
        requests: &mut Requests,
        out: &mut FilterOutput,
    ) {
        let params = parse_object(params);
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return out.to_host.extend(error_reply(&id, &ProxyError::Cursor));
        }
        self.waiting_lists.push(id);
        self.request_list(params, requests, out);
    }

    pub(super) fn on_call_request(
        &mut self,
        id: Id,
        method: String,
        params: Option<String>,
        requests: &mut Requests,
        pins: &Pins,
        out: &mut FilterOutput,
    ) {
        #[derive(Deserialize)]
        struct CallParams {
            name: String,
        }
        let parsed = params.as_deref().and_then(|params| serde_json::from_str::<CallParams>(params).ok());
        let Some(CallParams { name }) = parsed else {
            return out.to_host.extend(error_reply(&id, &ProxyError::Nameless));
        };
        // Revisions without sessions identify the client in each request, so the list request does
        // too.
        let host_meta = host_meta(parse_object(params.as_deref()));
        let message = Message::Request { id: id.clone(), method, params };
        self.waiting_calls.push(WaitingCall { id, name, message });
        self.release_calls(host_meta, requests, pins, out);
    }

    /// Forwards or refuses the waiting calls; requests the list when it is unknown.
    fn release_calls(
        &mut self,
        host_meta: Map<String, Value>,
        requests: &mut Requests,
        pins: &Pins,
        out: &mut FilterOutput,
    ) {
        if let ListState::Withheld(list) = &self.state
            && pins.holds(&self.key, list).unwrap_or(false)
            && let ListState::Withheld(list) = std::mem::replace(&mut self.state, ListState::Unknown)
        {
            // The operator has consented since.
            self.state = ListState::Accepted(list);
        }
        match &self.state {
            ListState::Unknown => self.request_list(host_meta, requests, out),
            ListState::Withheld(_) => self.refuse_calls(CHANGED, out),
            ListState::Accepted(list) => {
                for call in self.waiting_calls.drain(..) {
                    if list.has(&call.name) {
                        out.to_child.extend(call.message.to_line());
                        requests.in_flight.insert(call.id);
                    } else {
                        let (kind, name) = (self.kind, printable(&call.name));
                        out.to_host
                            .extend(error_reply(&call.id, &ProxyError::Unlisted { kind, name: &name }));
                    }
                }
            }
        }
    }

    fn request_list(
        &mut self,
        mut params: Map<String, Value>,
        requests: &mut Requests,
        out: &mut FilterOutput,
    ) {
        if self.pages.is_none() {
            params.remove("cursor");
            self.host_meta = host_meta(params.clone());
            let pages = ListPages::new(self.kind, requests.next_id(), params);
            out.to_child.extend(pages.request().to_line());
            self.pages = Some(pages);
        }
    }

    /// The server's answer to a request of this list.
    pub(super) fn on_page(
        &mut self,
        outcome: Outcome,
        requests: &mut Requests,
        pins: &Pins,
        out: &mut FilterOutput,
    ) {
        let Some(mut pages) = self.pages.take() else { return };
        match pages.add(outcome, || requests.next_id()) {
            PageResult::More => {
                out.to_child.extend(pages.request().to_line());
                self.pages = Some(pages);
            }
            PageResult::Complete(list, members) => {
                self.on_list(list, members, pages.is_stale, requests, pins, out);
            }
            PageResult::Invalid(why) => self.withhold(&why, requests, out),
            PageResult::ServerError(error) => {
                for id in self.waiting_lists.drain(..) {
                    let outcome = Outcome::Error(error.clone());
                    out.to_host.extend(Message::Response { id, outcome }.to_line());
                }
                self.refuse_calls("the server does not list them", out);
            }
        }
    }

    /// Compares a complete list with its pin, and only then shows it to the host.
    fn on_list(
        &mut self,
        list: ToolList,
        mut result: Map<String, Value>,
        is_stale: bool,
        requests: &mut Requests,
        pins: &Pins,
        out: &mut FilterOutput,
    ) {
        let status = match pins.judge(&self.key, &list) {
            Ok(status) => status,
            Err(why) => {
                return self.withhold(&format!("their pin cannot be used ({why})"), requests, out);
            }
        };
        let (name, hash) = (printable(self.key.name()).into_owned(), list.hash());
        let is_noted = self.noted_hash.replace(hash.clone()).is_some_and(|noted| noted == hash);
        let short = hash.get(..12).unwrap_or_default().to_owned();
        let items = match status {
            PinStatus::First | PinStatus::Same => self.kind.shown(&list),
            PinStatus::Changed => {
                add_withheld_note(&mut result, self.kind, &self.key, CHANGED);
                Vec::new()
            }
        };
        let noun = self.kind.noun();
        match status {
            PinStatus::First => out.notes.push(format!(
                "pinned the {} {noun} of `{name}` (sha256 {short}…); a change is withheld until `picoclaw mcp trust {name}`",
                list.tools().len()
            )),
            PinStatus::Changed if !is_noted => out.notes.push(format!(
                "the {noun} of `{name}` have changed (sha256 {short}…) and are withheld; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents"
            )),
            PinStatus::Same | PinStatus::Changed => {}
        }
        self.state =
            if status == PinStatus::Changed { ListState::Withheld(list) } else { ListState::Accepted(list) };
        result.insert(self.kind.member().to_owned(), Value::Array(items));
        self.answer_lists(&result, out);
        self.stale_lists = if is_stale { self.stale_lists + 1 } else { 0 };
        if is_stale {
            self.state = ListState::Unknown;
            if self.stale_lists >= MAX_STALE_LISTS {
                self.stale_lists = 0;
                return self.refuse_calls("the server changes them all the time", out);
            }
        }
        if !self.waiting_calls.is_empty() {
            self.release_calls(self.host_meta.clone(), requests, pins, out);
        }
    }

    /// Without a valid list the host gets an empty one, and no tool can be called.
    fn withhold(&mut self, why: &str, requests: &mut Requests, out: &mut FilterOutput) {
        self.state = ListState::Unknown;
        let why = printable(why).into_owned();
        let (noun, name) = (self.kind.noun(), printable(self.key.name()));
        requests.note(format!("the {noun} of `{name}` are withheld: {why}"), out);
        let mut result = Map::from_iter([(self.kind.member().to_owned(), json!([]))]);
        add_withheld_note(&mut result, self.kind, &self.key, &why);
        self.answer_lists(&result, out);
        self.refuse_calls(&why, out);
    }

    fn answer_lists(&mut self, result: &Map<String, Value>, out: &mut FilterOutput) {
        let result = Value::Object(result.clone()).to_string();
        for id in self.waiting_lists.drain(..) {
            let outcome = Outcome::Result(result.clone());
            out.to_host.extend(Message::Response { id, outcome }.to_line());
        }
    }

    fn refuse_calls(&mut self, why: &str, out: &mut FilterOutput) {
        let name = printable(self.key.name()).into_owned();
        for call in self.waiting_calls.drain(..) {
            out.to_host
                .extend(error_reply(&call.id, &ProxyError::Withheld { kind: self.kind, name: &name, why }));
        }
    }
}

/// Explains an empty list in `_meta`, which no model reads.
fn add_withheld_note(result: &mut Map<String, Value>, kind: ListKind, key: &PinKey, why: &str) {
    let text = format!("the {} of `{}` are withheld: {why}", kind.noun(), key.name());
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if !meta.is_object() {
        *meta = json!({});
    }
    meta["picoclaw/withheld"] = text.into();
}

/// The members of a request's parameters that describe the client, not the request.
fn host_meta(mut params: Map<String, Value>) -> Map<String, Value> {
    params.retain(|name, _| name == "_meta");
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        meta.remove("progressToken");
    }
    params
}
