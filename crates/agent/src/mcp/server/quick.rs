//! The quick way: a call of a file tool is run and answered by whoever read it.
//!
//! Nothing is handed from thread to thread, and nothing is turned into a tree of values. It is open to a client
//! of which everything is known, by a handshake or by what its request says and by a first call that went the other way, for
//! calls that pass no hook and can neither ask anybody nor report progress; everything else, and everything that is in any
//! way unusual, takes the way through the protocol's own machinery.
//!
//! Invariant: a call means the same on both ways: same hall, same roots, same records, same answer.

use super::client::{Client, Introduction};
use super::outlet::Outlet;
use super::premises::Premises;
use super::roots::Roots;
use super::running::{Place, Running};
use super::sheet::Sheet;
use super::spelled;
use super::traffic::Traffic;
use crate::call::{Call, Reply};
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::launch::Halt;
use rmcp::model::{JsonObject, ProtocolVersion, RequestId, RequestMetaObject};
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, SemaphorePermit};

/// The tools that work on files: they ask nobody, and are done when they return.
const TOOLS: [&str; 5] = ["append_file", "edit_file", "list_dir", "read_file", "write_file"];

/// Keys with which a request says how it is to be understood.
const PROTOCOL: &str = "io.modelcontextprotocol/";

/// Those of them that say who the client is.
const WHO: [&str; 3] = ["protocolVersion", "clientInfo", "clientCapabilities"];

/// The quick way of one connection.
pub(super) struct Quick {
    premises: Arc<Premises>,
    client: Arc<Client>,
    traffic: Arc<Mutex<Traffic>>,
    /// Told when a request was answered.
    moved: Arc<Notify>,
    /// Told when nothing can be written any more.
    broken: Arc<Notify>,
    outlet: Outlet,
    halt: Halt,
    _place: Place,
}

/// A call that can go this way.
pub(super) struct Taken<'q> {
    id: RequestId,
    introduction: Introduction,
    call: Call,
    roots: Roots,
    _turn: SemaphorePermit<'q>,
}

/// A call as nearly every client writes it; whatever else is in it makes it unusual.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'l> {
    jsonrpc: &'l str,
    id: RequestId,
    method: &'l str,
    #[serde(borrow)]
    params: Params<'l>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'l> {
    name: &'l str,
    #[serde(default)]
    arguments: JsonObject,
    #[serde(default, rename = "_meta")]
    meta: RequestMetaObject,
}

impl Quick {
    pub(super) fn new(
        premises: &Arc<Premises>,
        client: &Arc<Client>,
        traffic: &Arc<Mutex<Traffic>>,
        [moved, broken]: [&Arc<Notify>; 2],
        outlet: Outlet,
        running: &Running,
    ) -> Self {
        let halt = Halt::new();
        let place = running.enter(&halt);
        Self {
            premises: Arc::clone(premises),
            client: Arc::clone(client),
            traffic: Arc::clone(traffic),
            moved: Arc::clone(moved),
            broken: Arc::clone(broken),
            outlet,
            halt,
            _place: place,
        }
    }

    /// Takes a line that is a call for this way; from here on it is on the way, and nobody else's.
    pub(super) fn take(&self, line: &[u8]) -> Option<Taken<'_>> {
        if self.premises.is_attended() {
            return None;
        }
        let roots = self.client.settled_roots()?;
        let Request { jsonrpc, id, method, params } = serde_json::from_slice(line).ok()?;
        let introduction = self.client.introduction();
        let is_usual = jsonrpc == "2.0"
            && method == "tools/call"
            && TOOLS.contains(&params.name)
            && says_enough(&params.meta, introduction);
        if !is_usual {
            return None;
        }
        let turn = self.premises.calls.try_acquire().ok()?;
        if !self.traffic().begin(&id) {
            return None;
        }
        let subject = Subject { origin: Origin::Mcp, ..self.premises.subject.clone() };
        let call = Call { tool: params.name.to_owned(), arguments: Value::Object(params.arguments), subject };
        Some(Taken { id, introduction, call, roots, _turn: turn })
    }

    /// Runs the call, and answers it unless the client has called it off.
    pub(super) fn answer(&self, taken: Taken<'_>, sheet: &mut Sheet) {
        let Taken { id, introduction, mut call, roots, _turn } = taken;
        let reply = self.run(&mut call, &roots);
        let mut output = self.outlet.take();
        if !self.traffic().is_worked_on(&id) {
            return self.answered(&id);
        }
        let mut pen = sheet.begin(&mut **output);
        let spelled = spelled::write(&mut pen, &id, introduction, &call.tool, reply);
        // Before its last word is out: a client may use the name again at once.
        self.answered(&id);
        if spelled.and_then(|()| pen.end()).is_err() {
            self.broken.notify_one();
        }
    }

    fn answered(&self, id: &RequestId) {
        let mut traffic = self.traffic();
        traffic.answered(id);
        if traffic.is_watched() {
            self.moved.notify_one();
        }
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, call: &mut Call, roots: &Roots) -> Reply {
        let hall = &self.premises.hall;
        match roots.narrow(&call.tool, &mut call.arguments, hall.warden(), &call.subject) {
            Some(no) => Reply::Refused(hall.warden().turn_away(&call.tool, &call.subject, no)),
            None => hall.call_blocking(call, &self.halt),
        }
    }
}

/// Whether a request says of itself what it must, and nothing that asks for more.
fn says_enough(meta: &RequestMetaObject, introduction: Introduction) -> bool {
    let mut said = meta.keys().filter_map(|key| key.strip_prefix(PROTOCOL));
    let this = ProtocolVersion::V_2026_07_28;
    match introduction {
        Introduction::Handshake => said.next().is_none(),
        Introduction::EachRequest => {
            said.all(|key| WHO.contains(&key))
                && meta.missing_required_keys(&this).is_empty()
                && meta.protocol_version() == Some(this)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_says_as_much_as_its_revision_asks_and_no_more() {
        let who = |version: &str, more: Value| {
            let mut meta = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            });
            meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            meta
        };
        let key = |key: &str, value: Value| json!({format!("{PROTOCOL}{key}"): value});
        for (why, meta, with_handshake, with_each) in [
            ("nothing", json!({}), true, false),
            ("a token for progress", json!({"progressToken": 1}), true, false),
            ("who it is", who("2026-07-28", json!({})), false, true),
            (
                "and more that is its own",
                who("2026-07-28", json!({"progressToken": 1, "a/b": 2})),
                false,
                true,
            ),
            ("and a wish", who("2026-07-28", key("logLevel", json!("debug"))), false, false),
            ("an older revision", who("2025-11-25", json!({})), false, false),
            ("one that nobody knows", who("2099-01-01", json!({})), false, false),
            ("no text", who("2026-07-28", key("protocolVersion", json!(7))), false, false),
            (
                "offers that are none",
                who("2026-07-28", key("clientCapabilities", json!("all"))),
                false,
                false,
            ),
            ("no offers", key("protocolVersion", json!("2026-07-28")), false, false),
        ] {
            let meta: RequestMetaObject = serde_json::from_value(meta).unwrap();
            let got = [Introduction::Handshake, Introduction::EachRequest].map(|how| says_enough(&meta, how));
            assert_eq!(got, [with_handshake, with_each], "{why}");
        }
    }
}
