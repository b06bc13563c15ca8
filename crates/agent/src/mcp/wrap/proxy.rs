//! The message filter between a host and a wrapped server. Its only state outside memory is the pin.

use super::super::pins::{PinKey, PinStatus, Pins, ToolList};
use super::error_reply::{ProxyError, error_reply, parse_error_reply};
use super::tool_pages::{PageResult, ToolPages};
use crate::jsonrpc::{Id, Message, Outcome, ParseError};
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::line_proxy::{FilterOutput, LineFilter};
use picoclaw_sandbox::printable;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Requests of the host that may be pending.
pub(super) const MAX_IN_FLIGHT: usize = 4_096;

/// Lists requested in a row because the server announced a change during the last one.
const MAX_STALE_LISTS: usize = 3;

/// Notes about a server that are shown.
const MAX_NOTES: usize = 40;

/// Bytes of an invalid line that a note shows.
const MAX_SHOWN_BYTES: usize = 120;

const CHANGED: &str = "they are not the ones that were pinned";

/// The proxy of one host and one server.
#[derive(Debug)]
pub struct PinningProxy {
    pins: Pins,
    key: PinKey,
    tools: Tools,
    /// The list that is being collected.
    pages: Option<ToolPages>,
    /// The `_meta` of the host's last request that needed a list.
    host_meta: Map<String, Value>,
    stale_lists: usize,
    /// `tools/list` requests of the host that wait for the list.
    waiting_lists: Vec<Id>,
    /// `tools/call` requests of the host that wait for the list.
    waiting_calls: Vec<WaitingCall>,
    in_flight: BTreeSet<Id>,
    last_id: u64,
    notes: usize,
    /// The hash of the last list that was reported as changed or new.
    noted_hash: Option<String>,
}

/// What is known about the server's tools.
#[derive(Debug)]
enum Tools {
    Unknown,
    /// The pinned list.
    Accepted(ToolList),
    /// Another list than the pinned one.
    Withheld(ToolList),
}

#[derive(Debug)]
struct WaitingCall {
    id: Id,
    tool: String,
    message: Message,
}

impl PinningProxy {
    /// A proxy for the server that `key` identifies.
    pub fn new(pins: Pins, key: PinKey) -> Self {
        Self {
            pins,
            key,
            tools: Tools::Unknown,
            pages: None,
            host_meta: Map::new(),
            stale_lists: 0,
            waiting_lists: Vec::new(),
            waiting_calls: Vec::new(),
            in_flight: BTreeSet::new(),
            last_id: 0,
            notes: 0,
            noted_hash: None,
        }
    }

    fn on_host_line(&mut self, line: &[u8], out: &mut FilterOutput) {
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(_) if is_blank(line) => return,
            Err(ParseError::Batch) => return refuse_batch(line, out),
            Err(why) => return out.to_host.extend(parse_error_reply(&why.to_string())),
        };
        match message {
            Message::Request { id, method, params } => self.on_request(id, method, params, out),
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                self.on_cancelled(params, out);
            }
            other => out.to_child.extend(other.to_line()),
        }
    }

    fn on_oversized_host_line(&mut self, out: &mut FilterOutput) {
        out.to_host.extend(parse_error_reply("a longer line than is passed on"));
        self.note("the host sent a longer line than is passed on".to_owned(), out);
    }

    fn on_server_line(&mut self, line: &[u8], out: &mut FilterOutput) {
        match Message::parse(line) {
            Ok(Message::Response { id, outcome }) => self.on_response(id, outcome, out),
            Ok(message) => {
                if matches!(&message, Message::Notification { method, .. } if method == "notifications/tools/list_changed")
                {
                    self.tools = Tools::Unknown;
                    self.pages.iter_mut().for_each(|pages| pages.is_stale = true);
                }
                out.to_host.extend(message.to_line());
            }
            Err(_) if is_blank(line) => {}
            Err(why) => {
                let head = line.get(..MAX_SHOWN_BYTES.min(line.len())).unwrap_or_default();
                let text = String::from_utf8_lossy(head);
                self.note(
                    format!("the server said something that was not passed on ({why}): {}", printable(&text)),
                    out,
                );
            }
        }
    }

    /// The id of an over-long response is unknown, so every pending request gets an error.
    fn on_oversized_server_line(&mut self, out: &mut FilterOutput) {
        self.note(
            "the server sent a longer line than is passed on; requests under way are answered with an error"
                .to_owned(),
            out,
        );
        for id in std::mem::take(&mut self.in_flight) {
            out.to_host.extend(error_reply(&id, &ProxyError::TooLong));
        }
        if self.pages.take().is_some() {
            self.withhold_tools("the list is longer than a line may be", out);
        }
    }

    fn on_request(&mut self, id: Id, method: String, params: Option<String>, out: &mut FilterOutput) {
        let is_waiting =
            self.waiting_lists.contains(&id) || self.waiting_calls.iter().any(|call| call.id == id);
        let is_ours = self.pages.as_ref().is_some_and(|pages| pages.id == id);
        if is_waiting || is_ours || self.in_flight.contains(&id) {
            return out.to_host.extend(error_reply(&id, &ProxyError::InUse));
        }
        if self.in_flight.len() + self.waiting_lists.len() + self.waiting_calls.len() >= MAX_IN_FLIGHT {
            return out.to_host.extend(error_reply(&id, &ProxyError::TooMany));
        }
        match method.as_str() {
            "tools/list" => self.on_list_request(id, params.as_deref(), out),
            "tools/call" => self.on_call_request(id, params, out),
            _ => {
                self.in_flight.insert(id.clone());
                out.to_child.extend(Message::Request { id, method, params }.to_line());
            }
        }
    }

    /// Requests the list anew each time, since the server may have changed it.
    fn on_list_request(&mut self, id: Id, params: Option<&str>, out: &mut FilterOutput) {
        let params = parse_object(params);
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return out.to_host.extend(error_reply(&id, &ProxyError::Cursor));
        }
        self.waiting_lists.push(id);
        self.request_list(params, out);
    }

    fn on_call_request(&mut self, id: Id, params: Option<String>, out: &mut FilterOutput) {
        #[derive(Deserialize)]
        struct CallParams {
            name: String,
        }
        let parsed = params.as_deref().and_then(|params| serde_json::from_str::<CallParams>(params).ok());
        let Some(CallParams { name: tool }) = parsed else {
            return out.to_host.extend(error_reply(&id, &ProxyError::Nameless));
        };
        // Revisions without sessions identify the client in each request, so the list request does too.
        let host_meta = host_meta(parse_object(params.as_deref()));
        let message = Message::Request { id: id.clone(), method: "tools/call".to_owned(), params };
        self.waiting_calls.push(WaitingCall { id, tool, message });
        self.release_calls(host_meta, out);
    }

    /// Forwards or refuses the waiting calls; requests the list when it is unknown.
    fn release_calls(&mut self, host_meta: Map<String, Value>, out: &mut FilterOutput) {
        if let Tools::Withheld(list) = &self.tools
            && self.pins.holds(&self.key, list).unwrap_or(false)
            && let Tools::Withheld(list) = std::mem::replace(&mut self.tools, Tools::Unknown)
        {
            // The operator has consented since.
            self.tools = Tools::Accepted(list);
        }
        match &self.tools {
            Tools::Unknown => self.request_list(host_meta, out),
            Tools::Withheld(_) => self.refuse_calls(CHANGED, out),
            Tools::Accepted(list) => {
                for call in self.waiting_calls.drain(..) {
                    if list.has(&call.tool) {
                        out.to_child.extend(call.message.to_line());
                        self.in_flight.insert(call.id);
                    } else {
                        let tool = printable(&call.tool);
                        out.to_host.extend(error_reply(&call.id, &ProxyError::Unlisted { tool: &tool }));
                    }
                }
            }
        }
    }

    fn request_list(&mut self, mut params: Map<String, Value>, out: &mut FilterOutput) {
        if self.pages.is_none() {
            params.remove("cursor");
            self.host_meta = host_meta(params.clone());
            let pages = ToolPages::new(next_id(&mut self.last_id, &self.in_flight), params);
            out.to_child.extend(pages.request().to_line());
            self.pages = Some(pages);
        }
    }

    fn on_response(&mut self, id: Id, outcome: Outcome, out: &mut FilterOutput) {
        if self.pages.as_ref().is_some_and(|pages| pages.id == id) {
            return self.on_page(outcome, out);
        }
        if self.in_flight.remove(&id) {
            return out.to_host.extend(Message::Response { id, outcome }.to_line());
        }
        let id = id.to_json();
        self.note(
            format!("the server answered {}, which nobody waits for; not passed on", printable(&id)),
            out,
        );
    }

    fn on_page(&mut self, outcome: Outcome, out: &mut FilterOutput) {
        let Some(mut pages) = self.pages.take() else { return };
        match pages.add(outcome, || next_id(&mut self.last_id, &self.in_flight)) {
            PageResult::More => {
                out.to_child.extend(pages.request().to_line());
                self.pages = Some(pages);
            }
            PageResult::Complete(list, members) => self.on_list(list, members, pages.is_stale, out),
            PageResult::Invalid(why) => self.withhold_tools(&why, out),
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
        out: &mut FilterOutput,
    ) {
        let status = match self.pins.judge(&self.key, &list) {
            Ok(status) => status,
            Err(why) => return self.withhold_tools(&format!("their pin cannot be used ({why})"), out),
        };
        let (name, hash) = (printable(self.key.name()).into_owned(), list.hash());
        let is_noted = self.noted_hash.replace(hash.clone()).is_some_and(|noted| noted == hash);
        let short = hash.get(..12).unwrap_or_default().to_owned();
        let tools = match status {
            PinStatus::First | PinStatus::Same => list.tools().to_vec(),
            PinStatus::Changed => {
                add_withheld_note(&mut result, &self.key, CHANGED);
                Vec::new()
            }
        };
        match status {
            PinStatus::First => out.notes.push(format!(
                "pinned the {} tools of `{name}` (sha256 {short}…); a change is withheld until `picoclaw mcp trust {name}`",
                list.tools().len()
            )),
            PinStatus::Changed if !is_noted => out.notes.push(format!(
                "the tools of `{name}` have changed (sha256 {short}…) and are withheld; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents"
            )),
            PinStatus::Same | PinStatus::Changed => {}
        }
        self.tools = if status == PinStatus::Changed { Tools::Withheld(list) } else { Tools::Accepted(list) };
        result.insert("tools".to_owned(), Value::Array(tools));
        self.answer_lists(&result, out);
        self.stale_lists = if is_stale { self.stale_lists + 1 } else { 0 };
        if is_stale {
            self.tools = Tools::Unknown;
            if self.stale_lists >= MAX_STALE_LISTS {
                self.stale_lists = 0;
                return self.refuse_calls("the server changes them all the time", out);
            }
        }
        if !self.waiting_calls.is_empty() {
            self.release_calls(self.host_meta.clone(), out);
        }
    }

    /// Without a valid list the host gets an empty one, and no tool can be called.
    fn withhold_tools(&mut self, why: &str, out: &mut FilterOutput) {
        self.tools = Tools::Unknown;
        let why = printable(why).into_owned();
        self.note(format!("the tools of `{}` are withheld: {why}", printable(self.key.name())), out);
        let mut result = Map::from_iter([("tools".to_owned(), json!([]))]);
        add_withheld_note(&mut result, &self.key, &why);
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
            out.to_host.extend(error_reply(&call.id, &ProxyError::Withheld { name: &name, why }));
        }
    }

    /// Drops a request that waits here; for any other one the server is notified.
    fn on_cancelled(&mut self, params: Option<String>, out: &mut FilterOutput) {
        let request = parse_object(params.as_deref());
        if let Some(id) = request.get("requestId").and_then(|id| Id::parse(&id.to_string())) {
            let waiting = self.waiting_lists.len() + self.waiting_calls.len();
            self.waiting_lists.retain(|known| *known != id);
            self.waiting_calls.retain(|call| call.id != id);
            if waiting > self.waiting_lists.len() + self.waiting_calls.len() {
                return;
            }
            self.in_flight.remove(&id);
        }
        let method = "notifications/cancelled".to_owned();
        out.to_child.extend(Message::Notification { method, params }.to_line());
    }

    fn note(&mut self, text: String, out: &mut FilterOutput) {
        self.notes += 1;
        match self.notes {
            1..MAX_NOTES => out.notes.push(text),
            MAX_NOTES => out.notes.push(format!("{text}; further complaints are not shown")),
            _ => {}
        }
    }
}

impl LineFilter for PinningProxy {
    fn host_line(&mut self, line: Line, out: &mut FilterOutput) {
        match line {
            Line::Whole(line) => self.on_host_line(&line, out),
            Line::TooLong { .. } => self.on_oversized_host_line(out),
        }
    }

    fn child_line(&mut self, line: Line, out: &mut FilterOutput) {
        match line {
            Line::Whole(line) => self.on_server_line(&line, out),
            Line::TooLong { .. } => self.on_oversized_server_line(out),
        }
    }

    fn is_waiting(&self) -> bool {
        self.pages.is_some() || !self.in_flight.is_empty()
    }
}

/// An id for a request of the proxy that no pending request of the host has.
fn next_id(last: &mut u64, in_flight: &BTreeSet<Id>) -> Id {
    loop {
        *last += 1;
        let id = Id::Text(format!("picoclaw-tools-{last}"));
        if !in_flight.contains(&id) {
            return id;
        }
    }
}

/// Explains an empty list in `_meta`, which no model reads.
fn add_withheld_note(result: &mut Map<String, Value>, key: &PinKey, why: &str) {
    let text = format!("the tools of `{}` are withheld: {why}", key.name());
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

fn parse_object(json: Option<&str>) -> Map<String, Value> {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Answers each request of a batch with an error; no current revision has batches.
fn refuse_batch(line: &[u8], out: &mut FilterOutput) {
    let items: Vec<Value> = serde_json::from_slice(line).unwrap_or_default();
    let requests = items.iter().filter(|item| item.get("method").is_some());
    let ids = requests.filter_map(|item| item.get("id")).filter_map(|id| Id::parse(&id.to_string()));
    let ids: Vec<Id> = ids.take(MAX_IN_FLIGHT).collect();
    if ids.is_empty() {
        return out.to_host.extend(parse_error_reply(&ParseError::Batch.to_string()));
    }
    for id in ids {
        out.to_host.extend(error_reply(&id, &ProxyError::Batch));
    }
}
