//! Records which hosts a command reached, and which it was refused.

use crate::ledger::{Entry, Ledger, LedgerError};
use crate::permit::OutcomeGuard;
use crate::printable::printable;
use picoclaw_policy::Verdict;
use picoclaw_policy::network::AllowedHosts;
use std::collections::btree_map::{BTreeMap, Entry as Place};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tool of a connection in the ledger.
const TOOL: &str = "connect";

/// The most refused hosts that are recorded and reported for one network.
const MAX_REFUSED: usize = 64;

/// The most lines about one command.
const MAX_LINES: usize = 5;

/// Names that a command asked for and did not reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkReport {
    /// Hosts that no entry allows.
    pub refused: Vec<String>,
    /// Whether there were more.
    pub has_more: bool,
    /// Hosts that are allowed and could not be reached, with the reason.
    pub failed: Vec<String>,
}

impl NetworkReport {
    /// Whether every host was reached.
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty() && self.failed.is_empty()
    }

    /// The report in words, for a network of the configuration.
    pub fn lines(&self) -> Vec<String> {
        self.lines_with(|host| {
            format!("`{host}` is not one of the hosts that `isolation.network.allow` lists")
        })
    }

    /// The report in words; `refused` says what is to be said of a host that is not allowed.
    pub fn lines_with(&self, refused: impl Fn(&str) -> String) -> Vec<String> {
        let refused = self.refused.iter().map(|host| refused(&printable(host)));
        let failed = self.failed.iter().map(|line| format!("not reached: {}", printable(line)));
        let all: Vec<_> = refused.chain(failed).collect();
        let more = all.len().saturating_sub(MAX_LINES);
        let more = match (more, self.has_more) {
            (0, false) => None,
            (more, false) => Some(format!("and {more} more hosts")),
            (more, true) => Some(format!("and more than {more} more hosts")),
        };
        all.into_iter().take(MAX_LINES).chain(more).collect()
    }
}

/// The records of one network: one for each host and port, however many connections there are.
#[derive(Debug)]
pub(super) struct ConnectionLog {
    ledger: Arc<Ledger>,
    /// The record of the command.
    command: Entry,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: BTreeMap<(String, u16), HostRecord>,
    report: NetworkReport,
}

#[derive(Debug)]
struct HostRecord {
    outcome: OutcomeGuard,
    asked: usize,
    connected: usize,
}

impl ConnectionLog {
    pub(super) fn new(ledger: Arc<Ledger>, command: Entry) -> Self {
        Self { ledger, command, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a connection before it is made; without its record none is.
    pub(super) fn permit(&self, host: &str, port: u16, verdict: &Verdict) -> Result<(), LedgerError> {
        let mut state = self.state();
        let record = match state.hosts.entry((host.to_owned(), port)) {
            Place::Occupied(known) => known.into_mut(),
            Place::Vacant(place) => {
                let decided = self.command.beside(TOOL, &format!("connect {host}:{port}"), verdict);
                self.ledger.append(std::slice::from_ref(&decided))?;
                let outcome = OutcomeGuard::new(Arc::clone(&self.ledger), decided);
                place.insert(HostRecord { outcome, asked: 0, connected: 0 })
            }
        };
        record.asked += 1;
        Ok(())
    }

    /// Notes a permitted connection that was made.
    pub(super) fn connected(&self, host: &str, port: u16) {
        if let Some(record) = self.state().hosts.get_mut(&(host.to_owned(), port)) {
            record.connected += 1;
        }
    }

    /// Notes a permitted connection that was not made.
    pub(super) fn failed(&self, host: &str, port: u16, why: &str) {
        self.note_failure(format!("{host}:{port}: {why}"));
    }

    /// Notes a host that was not reached, for the report.
    pub(super) fn note_failure(&self, line: String) {
        let failed = &mut self.state().report.failed;
        if !failed.contains(&line) && failed.len() < MAX_REFUSED {
            failed.push(line);
        }
    }

    /// Records a name that is refused, once.
    pub(super) fn refuse(&self, hosts: &AllowedHosts, host: &str) {
        let mut state = self.state();
        if state.report.refused.iter().any(|known| known == host) {
            return;
        }
        if state.report.refused.len() >= MAX_REFUSED {
            state.report.has_more = true;
            return;
        }
        state.report.refused.push(host.to_owned());
        drop(state);
        self.record_refusal(&format!("connect {host}"), &hosts.verdict(host, None));
    }

    fn record_refusal(&self, intent: &str, verdict: &Verdict) {
        let decided = self.command.beside(TOOL, intent, verdict);
        let finished = decided.clone().finished("refused", Duration::ZERO);
        if let Err(why) = self.ledger.append(&[decided, finished]) {
            tracing::error!(target: "ledger", error = %why, "A refused host was not recorded");
        }
    }

    /// Records how the connections went. Those that are made later have records of their own.
    pub(super) fn settle(&self) {
        let hosts = std::mem::take(&mut self.state().hosts);
        for record in hosts.into_values() {
            let HostRecord { outcome, asked, connected } = record;
            outcome.settle_as(&if asked == connected {
                format!("ok: {connected} connections")
            } else {
                format!("{connected} of {asked} connections made")
            });
        }
    }

    /// What was not reached since the last call.
    pub(super) fn take_report(&self) -> NetworkReport {
        let report = std::mem::take(&mut self.state().report);
        if report.has_more {
            self.record_refusal("connect to more hosts", &AllowedHosts::default().verdict("", None));
        }
        report
    }
}
