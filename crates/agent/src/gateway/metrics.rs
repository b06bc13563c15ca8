//! `GET /metrics`: gauges and counters for Prometheus.
//!
//! Label values come from closed sets, so that no client can make the list grow.

use super::response::{self, HttpResponse};
use super::server::Gateway;
use http::StatusCode;
use picoclaw_policy::Origin;
use picoclaw_sandbox::ledger::Reader;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// Counters by name and labels.
#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<BTreeMap<(&'static str, String), u64>>);

impl Counters {
    /// Counts a response.
    pub(super) fn response(&self, status: StatusCode) {
        self.add("picoclaw_http_requests_total", format!("code=\"{}\"", status.as_u16()));
    }

    /// Counts a finished turn.
    pub(super) fn turn(&self, origin: Origin, outcome: &'static str) {
        self.add("picoclaw_turns_total", format!("origin=\"{}\",outcome=\"{outcome}\"", origin.as_str()));
    }

    /// Counts a verdict of this process or of another one of the instance.
    pub(super) fn verdict(&self, verdict: &str) {
        let known = ["allow", "ask", "deny"].into_iter().find(|known| *known == verdict);
        self.add("picoclaw_verdicts_total", format!("verdict=\"{}\"", known.unwrap_or("other")));
    }

    /// Counts an answered question.
    pub(super) fn approval(&self, answer: &'static str) {
        self.add("picoclaw_approvals_total", format!("answer=\"{answer}\""));
    }

    /// Counts an attempted reload.
    pub(super) fn reload(&self, outcome: &'static str) {
        self.add("picoclaw_reloads_total", format!("outcome=\"{outcome}\""));
    }

    fn write(&self, text: &mut String) {
        let mut previous = "";
        for ((name, labels), count) in &*self.counts() {
            if *name != previous {
                let _ = writeln!(text, "# TYPE {name} counter");
                previous = name;
            }
            let _ = writeln!(text, "{name}{{{labels}}} {count}");
        }
    }

    fn add(&self, name: &'static str, labels: String) {
        *self.counts().entry((name, labels)).or_default() += 1;
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<(&'static str, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page.
pub(super) async fn page(gateway: &Gateway) -> HttpResponse {
    let mut text = String::new();
    let mut gauge = |name: &str, value: u64| {
        let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
    };
    if let Some(bytes) = (gateway.resident_bytes)() {
        gauge("process_resident_memory_bytes", bytes);
    }
    let started = gateway.started_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    gauge("process_start_time_seconds", started);
    gauge("picoclaw_ready", u64::from(gateway.not_ready_reason().is_none()));
    gauge("picoclaw_turns_running", gateway.turns.len() as u64);
    gauge("picoclaw_approvals_pending", gateway.approvals.list().len() as u64);
    gauge("picoclaw_event_listeners", gateway.events.subscribers() as u64);
    gauge("picoclaw_connections", gateway.connections.count() as u64);
    let ledger = gateway.ledger();
    let records = tokio::task::spawn_blocking(move || Reader::open(&ledger).ok()??.head().ok()?).await;
    gauge("picoclaw_ledger_records", records.ok().flatten().map_or(0, |tip| tip.seq));
    let _ = writeln!(
        text,
        "# TYPE picoclaw_build_info gauge\npicoclaw_build_info{{version=\"{}\"}} 1",
        gateway.version
    );
    gateway.counters.write(&mut text);
    response::full(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}
