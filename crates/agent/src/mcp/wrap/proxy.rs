//! The message filter between a host and a wrapped server. Its only state outside memory is the
//! pin.

use super::super::pins::{PinKey, PinStatus, Pins, ToolList};
use super::error_reply::{ProxyError, error_reply, parse_error_reply};
use super::list_kind::{ListKind, handshake_members};
use super::pinned_list::PinnedList;
use super::server_requests::AllowedRequests;
use crate::jsonrpc::{Id, Message, Outcome, OversizedMessage, ParseError};
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::line_proxy::{FilterOutput, LineFilter};
use picoclaw_sandbox::printable;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Requests of the host that may be pending.
pub(super) const MAX_IN_FLIGHT: usize = 4_096;

/// Notes about a server that are shown.
const MAX_NOTES: usize = 40;

/// Bytes of an invalid line that a note shows.
const MAX_SHOWN_BYTES: usize = 120;

/// The requests whose answers carry the server's instructions.
const HANDSHAKES: [&str; 2] = ["initialize", "server/discover"];

/// The proxy of one host and one server.
#[derive(Debug)]
pub struct PinningProxy {
    pins: Pins,
    key: PinKey,
    allowed: AllowedRequests,
    lists: [PinnedList; 3],
    requests: Requests,
    /// Handshakes that were passed on.
    handshakes: BTreeSet<Id>,
}

/// The requests under way, and the notes so far.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) in_flight: BTreeSet<Id>,
    last_id: u64,
    notes: usize,
}

impl Requests {
    /// An id for a request of the proxy that no pending request of the host has.
    pub(super) fn next_id(&mut self) -> Id {
        loop {
            self.last_id += 1;
            let id = Id::Text(format!("picoclaw-tools-{}", self.last_id));
            if !self.in_flight.contains(&id) {
                return id;
            }
        }
    }

    pub(super) fn note(&mut self, text: String, out: &mut FilterOutput) {
        self.notes += 1;
        match self.notes {
            1..MAX_NOTES => out.notes.push(text),
            MAX_NOTES => out.notes.push(format!("{text}; further complaints are not shown")),
            _ => {}
        }
    }
}

impl PinningProxy {
    /// A proxy for the server that `key` identifies.
    pub fn new(pins: Pins, key: PinKey, allowed: AllowedRequests) -> Self {
        let lists = ListKind::ALL.map(|kind| PinnedList::new(kind, &key));
        Self { pins, key, allowed, lists, requests: Requests::default(), handshakes: BTreeSet::new() }
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
        self.requests.note("the host sent a longer line than is passed on".to_owned(), out);
    }

    fn on_server_line(&mut self, line: &[u8], out: &mut FilterOutput) {
        match Message::parse(line) {
            Ok(Message::Response { id, outcome }) => self.on_response(id, outcome, out),
            Ok(Message::Request { id, method, params }) => self.on_server_request(id, method, params, out),
            Ok(Message::Notification { method, params }) => {
                let changed = self.lists.iter_mut().filter(|list| list.kind().changed_method() == method);
                changed.for_each(PinnedList::on_changed);
                out.to_host.extend(Message::Notification { method, params }.to_line());
            }
            Err(_) if is_blank(line) => {}
            Err(why) => {
                let head = line.get(..MAX_SHOWN_BYTES.min(line.len())).unwrap_or_default();
                let text = String::from_utf8_lossy(head);
                self.requests.note(
                    format!("the server said something that was not passed on ({why}): {}", printable(&text)),
                    out,
                );
            }
        }
    }

    /// A request of the server's: passed on, marked, or refused.
    fn on_server_request(&mut self, id: Id, method: String, params: Option<String>, out: &mut FilterOutput) {
        match self.allowed.check(self.key.name(), &method, params) {
            Ok(params) => out.to_host.extend(Message::Request { id, method, params }.to_line()),
            Err(flag) => {
                let why = ProxyError::NotAllowed { method: &method, flag };
                self.requests.note(format!("not passed on: {}", printable(&why.message())), out);
                out.to_child.extend(error_reply(&id, &why));
            }
        }
    }

    /// The request that an over-long response answers gets an error; every pending one does when
    /// its id cannot be seen.
    fn on_oversized_server_line(&mut self, head: &[u8], out: &mut FilterOutput) {
        self.requests.note("the server sent a longer line than is passed on".to_owned(), out);
        let answered = match OversizedMessage::of(head) {
            OversizedMessage::Unanswering => return,
            OversizedMessage::Response(id) => Id::parse(&id),
            OversizedMessage::Unknown => None,
        };
        let is_answered = |id: &Id| answered.as_ref().is_none_or(|answered| answered == id);
        let ids: Vec<Id> = self.requests.in_flight.iter().filter(|id| is_answered(id)).cloned().collect();
        for id in ids {
            self.requests.in_flight.remove(&id);
            self.handshakes.remove(&id);
            out.to_host.extend(error_reply(&id, &ProxyError::TooLong));
        }
        for list in &mut self.lists {
            if answered.as_ref().is_none_or(|id| list.asked(id)) {
                list.on_oversized(&mut self.requests, out);
            }
        }
    }

    fn on_request(&mut self, id: Id, method: String, params: Option<String>, out: &mut FilterOutput) {
        let Self { pins, lists, requests, .. } = self;
        if requests.in_flight.contains(&id) || lists.iter().any(|list| list.uses(&id)) {
            return out.to_host.extend(error_reply(&id, &ProxyError::InUse));
        }
        let waiting: usize = lists.iter().map(PinnedList::waiting).sum();
        if requests.in_flight.len() + waiting >= MAX_IN_FLIGHT {
            return out.to_host.extend(error_reply(&id, &ProxyError::TooMany));
        }
        if let Some(list) = lists.iter_mut().find(|list| list.kind().list_method() == method) {
            return list.on_list_request(id, params.as_deref(), requests, out);
        }
        if let Some(list) = lists.iter_mut().find(|list| list.kind().use_method() == Some(&method)) {
            return list.on_call_request(id, method, params, requests, pins, out);
        }
        let mut params = params;
        if HANDSHAKES.contains(&method.as_str()) {
            self.handshakes.insert(id.clone());
            params = self.allowed.narrow_capabilities(params);
        }
        self.requests.in_flight.insert(id.clone());
        out.to_child.extend(Message::Request { id, method, params }.to_line());
    }

    fn on_response(&mut self, id: Id, outcome: Outcome, out: &mut FilterOutput) {
        if let Some(list) = self.lists.iter_mut().find(|list| list.asked(&id)) {
            return list.on_page(outcome, &mut self.requests, &self.pins, out);
        }
        if !self.requests.in_flight.remove(&id) {
            let id = id.to_json();
            let text = format!(
                "the server answered {}, which answers no open request; not passed on",
                printable(&id)
            );
            return self.requests.note(text, out);
        }
        let outcome = match outcome {
            Outcome::Result(result) if self.handshakes.remove(&id) => {
                Outcome::Result(self.check_handshake(&result, out))
            }
            outcome => outcome,
        };
        out.to_host.extend(self.allowed.check_result(self.key.name(), &id, outcome));
    }

    /// The answer to a handshake, with the pinned instructions or none.
    fn check_handshake(&mut self, result: &str, out: &mut FilterOutput) -> String {
        let result = parse_object(Some(result));
        let mut members = handshake_members(&result);
        let text = result.get("instructions").and_then(Value::as_str).unwrap_or_default();
        let name = printable(self.key.name()).into_owned();
        let key = self.key.section("instructions");
        let pinned = ToolList::new(vec![json!({"name": "instructions", "description": text})]);
        let status = pinned
            .map_err(|why| why.to_string())
            .and_then(|list| self.pins.judge(&key, &list).map_err(|why| why.to_string()));
        match status {
            Ok(PinStatus::First) if !text.is_empty() => {
                let is_older = self.pins.load(self.key.id()).is_ok_and(|pin| pin.is_some());
                let since = if is_older { ", which an earlier version did not pin," } else { "" };
                out.notes.push(format!("pinned the instructions of `{name}`{since} as they are now"));
            }
            Ok(PinStatus::First | PinStatus::Same) => {}
            Ok(PinStatus::Changed) => {
                out.notes.push(format!(
                    "the instructions of `{name}` have changed and are withheld; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents"
                ));
                return Value::Object(members).to_string();
            }
            Err(why) => {
                let text = format!("the instructions of `{name}` are withheld: {}", printable(&why));
                self.requests.note(text, out);
                return Value::Object(members).to_string();
            }
        }
        if !text.is_empty() {
            members.insert("instructions".to_owned(), text.into());
        }
        Value::Object(members).to_string()
    }

    /// Drops a request that waits here; for any other one the server is notified.
    fn on_cancelled(&mut self, params: Option<String>, out: &mut FilterOutput) {
        let request = parse_object(params.as_deref());
        if let Some(id) = request.get("requestId").and_then(|id| Id::parse(&id.to_string())) {
            if self.lists.iter_mut().any(|list| list.cancel(&id)) {
                return;
            }
            self.requests.in_flight.remove(&id);
            self.handshakes.remove(&id);
        }
        let method = "notifications/cancelled".to_owned();
        out.to_child.extend(Message::Notification { method, params }.to_line());
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
            Line::TooLong { head } => self.on_oversized_server_line(&head, out),
        }
    }

    fn is_waiting(&self) -> bool {
        self.lists.iter().any(PinnedList::is_collecting) || !self.requests.in_flight.is_empty()
    }
}

pub(super) fn parse_object(json: Option<&str>) -> Map<String, Value> {
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
