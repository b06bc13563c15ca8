//! The gate: what passes between a host and a wrapped server.
//!
//! Invariant: pure but for the pins. Each line has its effect at once; what waits, waits for a list of tools alone.

use super::super::pins::{PinKey, Pins, Standing, ToolList};
use super::frame::{Frame, FrameError, Id, Outcome};
use super::listing::{Listing, Page};
use super::reply::{Refused, answer, refuse, unreadable};
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::line_proxy::{FilterOutput as Said, LineFilter};
use picoclaw_sandbox::printable;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Requests of a host that may be under way at once.
pub const MOST_IN_FLIGHT: usize = 4_096;

/// Lists that are asked for in a row because the server says that the last one is out of date.
const MOST_ROUNDS: usize = 3;

/// Complaints about a server that are worth somebody's time.
const MOST_NOTES: usize = 40;

/// How much of a line a complaint shows.
const SHOWN: usize = 120;

/// Between one host and one server.
#[derive(Debug)]
pub struct Gate {
    pins: Pins,
    key: PinKey,
    tools: Tools,
    listing: Option<Listing>,
    /// What the host said about itself the last time that a list was asked for.
    about: Map<String, Value>,
    rounds: usize,
    lists: Vec<Id>,
    calls: Vec<Call>,
    in_flight: BTreeSet<Id>,
    next: u64,
    notes: usize,
    noted: Option<String>,
}

/// What is known about the server's tools.
#[derive(Debug)]
enum Tools {
    /// Nothing yet, or nothing any more.
    Unknown,
    /// They are the pinned ones.
    Open(ToolList),
    /// They are others.
    Withheld(ToolList),
}

/// A call that waits for a list.
#[derive(Debug)]
struct Call {
    id: Id,
    tool: String,
    frame: Frame,
}

const CHANGED: &str = "they are not the ones that were pinned";

impl Gate {
    /// A gate for the server that `key` names.
    pub fn new(pins: Pins, key: PinKey) -> Self {
        Self {
            pins,
            key,
            tools: Tools::Unknown,
            listing: None,
            about: Map::new(),
            rounds: 0,
            lists: Vec::new(),
            calls: Vec::new(),
            in_flight: BTreeSet::new(),
            next: 0,
            notes: 0,
            noted: None,
        }
    }

    /// A line of the host's.
    fn hear_host(&mut self, line: &[u8], said: &mut Said) {
        let frame = match Frame::read(line) {
            Ok(frame) => frame,
            Err(_) if is_blank(line) => return,
            Err(FrameError::Batch) => return refuse_batch(line, said),
            Err(why) => return said.to_host.extend(unreadable(&why.to_string())),
        };
        match frame {
            Frame::Request { id, method, params } => self.request(id, method, params, said),
            Frame::Notification { method, params } if method == "notifications/cancelled" => {
                self.cancel(params, said);
            }
            other => said.to_child.extend(other.line()),
        }
    }

    /// A line of the host's that was longer than is passed on.
    fn too_long_from_host(&mut self, said: &mut Said) {
        said.to_host.extend(unreadable("a longer line than is passed on"));
        self.note("the host sent a longer line than is passed on".to_owned(), said);
    }

    /// A line of the server's.
    fn hear_server(&mut self, line: &[u8], said: &mut Said) {
        match Frame::read(line) {
            Ok(Frame::Response { id, outcome }) => self.response(id, outcome, said),
            Ok(frame) => {
                if matches!(&frame, Frame::Notification { method, .. } if method == "notifications/tools/list_changed")
                {
                    self.tools = Tools::Unknown;
                    self.listing.iter_mut().for_each(|listing| listing.is_stale = true);
                }
                said.to_host.extend(frame.line());
            }
            Err(_) if is_blank(line) => {}
            Err(why) => {
                let text = String::from_utf8_lossy(line.get(..SHOWN.min(line.len())).unwrap_or_default());
                self.note(
                    format!("the server said something that was not passed on ({why}): {}", printable(&text)),
                    said,
                );
            }
        }
    }

    /// A line of the server's that was longer than is passed on. Whom it would have answered cannot be known, so nobody is
    /// left waiting for it.
    fn too_long_from_server(&mut self, said: &mut Said) {
        self.note(
            "the server sent a longer line than is passed on; requests under way are answered with an error"
                .to_owned(),
            said,
        );
        for id in std::mem::take(&mut self.in_flight) {
            said.to_host.extend(refuse(&id, &Refused::TooLong).line());
        }
        if self.listing.take().is_some() {
            self.conclude_badly("the list is longer than a line may be", said);
        }
    }

    fn request(&mut self, id: Id, method: String, params: Option<String>, said: &mut Said) {
        let waits = self.lists.contains(&id) || self.calls.iter().any(|call| call.id == id);
        let ours = self.listing.as_ref().is_some_and(|listing| listing.id == id);
        if waits || ours || self.in_flight.contains(&id) {
            return said.to_host.extend(refuse(&id, &Refused::InUse).line());
        }
        if self.in_flight.len() + self.lists.len() + self.calls.len() >= MOST_IN_FLIGHT {
            return said.to_host.extend(refuse(&id, &Refused::TooMany).line());
        }
        match method.as_str() {
            "tools/list" => self.list(id, params.as_deref(), said),
            "tools/call" => self.call(id, params, said),
            _ => {
                self.in_flight.insert(id.clone());
                said.to_child.extend(Frame::Request { id, method, params }.line());
            }
        }
    }

    /// The host wants the list: it is asked for anew each time, since it may be another one each time.
    fn list(&mut self, id: Id, params: Option<&str>, said: &mut Said) {
        let params = object(params);
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return said.to_host.extend(refuse(&id, &Refused::Cursor).line());
        }
        self.lists.push(id);
        self.begin(params, said);
    }

    fn call(&mut self, id: Id, params: Option<String>, said: &mut Said) {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let named = params.as_deref().and_then(|params| serde_json::from_str::<Named>(params).ok());
        let Some(Named { name: tool }) = named else {
            return said.to_host.extend(refuse(&id, &Refused::Nameless).line());
        };
        // A revision without sessions says with each request who asks; so must the list that is asked for first.
        let about = about_the_host(object(params.as_deref()));
        let frame = Frame::Request { id: id.clone(), method: "tools/call".to_owned(), params };
        self.calls.push(Call { id, tool, frame });
        self.admit(about, said);
    }

    /// Lets the calls that wait pass, or tells them why not; without a list, asks for one.
    fn admit(&mut self, about: Map<String, Value>, said: &mut Said) {
        if let Tools::Withheld(list) = &self.tools
            && self.pins.holds(&self.key, list).unwrap_or(false)
            && let Tools::Withheld(list) = std::mem::replace(&mut self.tools, Tools::Unknown)
        {
            // Somebody consented meanwhile.
            self.tools = Tools::Open(list);
        }
        match &self.tools {
            Tools::Unknown => self.begin(about, said),
            Tools::Withheld(_) => self.refuse_calls(CHANGED, said),
            Tools::Open(list) => {
                for call in self.calls.drain(..) {
                    if list.has(&call.tool) {
                        said.to_child.extend(call.frame.line());
                        self.in_flight.insert(call.id);
                    } else {
                        let tool = printable(&call.tool);
                        said.to_host.extend(refuse(&call.id, &Refused::Unlisted { tool: &tool }).line());
                    }
                }
            }
        }
    }

    fn begin(&mut self, mut about: Map<String, Value>, said: &mut Said) {
        if self.listing.is_none() {
            about.remove("cursor");
            self.about = about_the_host(about.clone());
            let listing = Listing::new(next_id(&mut self.next, &self.in_flight), about);
            said.to_child.extend(listing.request().line());
            self.listing = Some(listing);
        }
    }

    fn response(&mut self, id: Id, outcome: Outcome, said: &mut Said) {
        if self.listing.as_ref().is_some_and(|listing| listing.id == id) {
            return self.page(outcome, said);
        }
        if self.in_flight.remove(&id) {
            return said.to_host.extend(Frame::Response { id, outcome }.line());
        }
        let id = id.spelled();
        self.note(
            format!("the server answered {}, which nobody waits for; not passed on", printable(&id)),
            said,
        );
    }

    fn page(&mut self, outcome: Outcome, said: &mut Said) {
        let Some(mut listing) = self.listing.take() else { return };
        match listing.take(outcome, || next_id(&mut self.next, &self.in_flight)) {
            Page::More => {
                said.to_child.extend(listing.request().line());
                self.listing = Some(listing);
            }
            Page::Whole(list, rest) => self.conclude(list, rest, listing.is_stale, said),
            Page::Bad(why) => self.conclude_badly(&why, said),
            Page::Failed(error) => {
                for id in self.lists.drain(..) {
                    said.to_host
                        .extend(Frame::Response { id, outcome: Outcome::Error(error.clone()) }.line());
                }
                self.refuse_calls("the server does not list them", said);
            }
        }
    }

    /// A whole list: judged, and only then told.
    fn conclude(&mut self, list: ToolList, mut rest: Map<String, Value>, is_stale: bool, said: &mut Said) {
        let standing = match self.pins.judge(&self.key, &list) {
            Ok(standing) => standing,
            Err(why) => return self.conclude_badly(&format!("their pin cannot be used ({why})"), said),
        };
        let (name, hash) = (printable(self.key.name()).into_owned(), list.hash());
        let known = self.noted.replace(hash.clone()).is_some_and(|noted| noted == hash);
        let short = hash.get(..12).unwrap_or_default().to_owned();
        let tools = match standing {
            Standing::First | Standing::Same => list.tools().to_vec(),
            Standing::Changed => {
                withhold(&mut rest, &self.key, CHANGED);
                Vec::new()
            }
        };
        match standing {
            Standing::First => said.notes.push(format!(
                "pinned the {} tools of `{name}` (sha256 {short}…); a change is withheld until `picoclaw mcp trust {name}`",
                list.tools().len()
            )),
            Standing::Changed if !known => said.notes.push(format!(
                "the tools of `{name}` have changed (sha256 {short}…) and are withheld; `picoclaw mcp trust {name} --show` shows the difference, `picoclaw mcp trust {name}` consents"
            )),
            Standing::Same | Standing::Changed => {}
        }
        self.tools = if standing == Standing::Changed { Tools::Withheld(list) } else { Tools::Open(list) };
        rest.insert("tools".to_owned(), Value::Array(tools));
        for id in self.lists.drain(..) {
            said.to_host.extend(answer(&id, &rest).line());
        }
        self.rounds = if is_stale { self.rounds + 1 } else { 0 };
        if is_stale {
            self.tools = Tools::Unknown;
            if self.rounds >= MOST_ROUNDS {
                self.rounds = 0;
                return self.refuse_calls("the server changes them all the time", said);
            }
        }
        if !self.calls.is_empty() {
            self.admit(self.about.clone(), said);
        }
    }

    /// No list to be had: the host gets none, and nothing can be called.
    fn conclude_badly(&mut self, why: &str, said: &mut Said) {
        self.tools = Tools::Unknown;
        let why = printable(why).into_owned();
        self.note(format!("the tools of `{}` are withheld: {why}", printable(self.key.name())), said);
        let mut result = Map::from_iter([("tools".to_owned(), json!([]))]);
        withhold(&mut result, &self.key, &why);
        for id in self.lists.drain(..) {
            said.to_host.extend(answer(&id, &result).line());
        }
        self.refuse_calls(&why, said);
    }

    fn refuse_calls(&mut self, why: &str, said: &mut Said) {
        let name = printable(self.key.name()).into_owned();
        for call in self.calls.drain(..) {
            said.to_host.extend(refuse(&call.id, &Refused::Withheld { name: &name, why }).line());
        }
    }

    /// Whoever waits here is not waiting any more; about all others the server is told.
    fn cancel(&mut self, params: Option<String>, said: &mut Said) {
        let about = object(params.as_deref()).get("requestId").and_then(|id| Id::read(&id.to_string()));
        if let Some(id) = about {
            let waiting = self.lists.len() + self.calls.len();
            self.lists.retain(|known| *known != id);
            self.calls.retain(|call| call.id != id);
            if waiting > self.lists.len() + self.calls.len() {
                return;
            }
            self.in_flight.remove(&id);
        }
        let method = "notifications/cancelled".to_owned();
        said.to_child.extend(Frame::Notification { method, params }.line());
    }

    fn note(&mut self, text: String, said: &mut Said) {
        self.notes += 1;
        match self.notes {
            1..MOST_NOTES => said.notes.push(text),
            MOST_NOTES => said.notes.push(format!("{text}; further complaints are not shown")),
            _ => {}
        }
    }
}

impl LineFilter for Gate {
    fn host_line(&mut self, line: Line, said: &mut Said) {
        match line {
            Line::Whole(line) => self.hear_host(&line, said),
            Line::TooLong { .. } => self.too_long_from_host(said),
        }
    }

    fn child_line(&mut self, line: Line, said: &mut Said) {
        match line {
            Line::Whole(line) => self.hear_server(&line, said),
            Line::TooLong { .. } => self.too_long_from_server(said),
        }
    }

    fn is_waiting(&self) -> bool {
        self.listing.is_some() || !self.in_flight.is_empty()
    }
}

/// An id of ours that no request of the host's has.
fn next_id(next: &mut u64, taken: &BTreeSet<Id>) -> Id {
    loop {
        *next += 1;
        let id = Id::Text(format!("picoclaw-tools-{next}"));
        if !taken.contains(&id) {
            return id;
        }
    }
}

/// Says in a result why it is empty, where no model reads it.
fn withhold(result: &mut Map<String, Value>, key: &PinKey, why: &str) {
    let text = format!("the tools of `{}` are withheld: {why}", key.name());
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if !meta.is_object() {
        *meta = json!({});
    }
    meta["picoclaw/withheld"] = text.into();
}

/// What a request says about who asks, and nothing about what is asked.
fn about_the_host(mut params: Map<String, Value>) -> Map<String, Value> {
    params.retain(|name, _| name == "_meta");
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        meta.remove("progressToken");
    }
    params
}

fn object(params: Option<&str>) -> Map<String, Value> {
    params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// No present revision has batches: each request in one is told so.
fn refuse_batch(line: &[u8], said: &mut Said) {
    let items: Vec<Value> = serde_json::from_slice(line).unwrap_or_default();
    let asked = items.iter().filter(|item| item.get("method").is_some()).filter_map(|item| item.get("id"));
    let ids: Vec<Id> = asked.filter_map(|id| Id::read(&id.to_string())).take(MOST_IN_FLIGHT).collect();
    if ids.is_empty() {
        return said.to_host.extend(unreadable(&FrameError::Batch.to_string()));
    }
    for id in ids {
        said.to_host.extend(refuse(&id, &Refused::Batch).line());
    }
}
