//! `GET /metrics`: numbers for Prometheus.
//!
//! Invariant: numbers only; nothing that anybody wrote.

use super::answer::{self, Answer};
use super::gate::Gate;
use http::StatusCode;
use picoclaw_sandbox::ledger::Reader;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

/// The page.
pub(super) async fn page(gate: &Gate) -> Answer {
    let mut text = String::new();
    let mut gauge = |name: &str, value: u64| {
        let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
    };
    if let Some(bytes) = (gate.resident)() {
        gauge("process_resident_memory_bytes", bytes);
    }
    let began = gate.began_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    gauge("process_start_time_seconds", began);
    gauge("picoclaw_ready", u64::from(gate.lacks().is_none()));
    gauge("picoclaw_turns_running", gate.underway.count() as u64);
    gauge("picoclaw_approvals_pending", gate.approvals.list().len() as u64);
    gauge("picoclaw_event_listeners", gate.bulletin.listeners() as u64);
    gauge("picoclaw_connections", gate.places.count() as u64);
    let ledger = gate.ledger();
    let records = tokio::task::spawn_blocking(move || Reader::open(&ledger).ok()??.head().ok()?).await;
    gauge("picoclaw_ledger_records", records.ok().flatten().map_or(0, |tip| tip.seq));
    let _ = writeln!(
        text,
        "# TYPE picoclaw_build_info gauge\npicoclaw_build_info{{version=\"{}\"}} 1",
        gate.version
    );
    gate.counts.write(&mut text);
    answer::whole(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}
