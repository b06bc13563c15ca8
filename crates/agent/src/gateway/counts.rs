//! What is counted, for `/metrics`.
//!
//! Invariant: labels come from closed sets, so that nobody outside can make the list grow.

use http::StatusCode;
use picoclaw_policy::Origin;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counters: a name with its labels, and how often.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<BTreeMap<(&'static str, String), u64>>);

impl Counts {
    /// A request was answered.
    pub(super) fn answered(&self, status: StatusCode) {
        self.add("picoclaw_http_requests_total", format!("code=\"{}\"", status.as_u16()));
    }

    /// A turn ended.
    pub(super) fn turn(&self, origin: Origin, outcome: &'static str) {
        self.add("picoclaw_turns_total", format!("origin=\"{}\",outcome=\"{outcome}\"", origin.as_str()));
    }

    /// A call was judged, here or in another program of this instance.
    pub(super) fn verdict(&self, verdict: &str) {
        let known = ["allow", "ask", "deny"].into_iter().find(|known| *known == verdict);
        self.add("picoclaw_verdicts_total", format!("verdict=\"{}\"", known.unwrap_or("other")));
    }

    /// A question was answered.
    pub(super) fn approval(&self, answer: &'static str) {
        self.add("picoclaw_approvals_total", format!("answer=\"{answer}\""));
    }

    /// A reload was tried.
    pub(super) fn reload(&self, outcome: &'static str) {
        self.add("picoclaw_reloads_total", format!("outcome=\"{outcome}\""));
    }

    /// All of them, as Prometheus reads them.
    pub(super) fn write(&self, text: &mut String) {
        let mut before = "";
        for ((name, labels), count) in &*self.counts() {
            if *name != before {
                let _ = writeln!(text, "# TYPE {name} counter");
                before = name;
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
