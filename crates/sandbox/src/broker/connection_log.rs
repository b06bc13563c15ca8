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
    /// How many more there were.
    pub more: usize,
    /// Hosts that are allowed and could not be reached, with the reason.
    pub failed: Vec<String>,
}

impl NetworkReport {
    /// How many hosts are not among the first so many lines.
    pub fn unnamed(&self, named: usize) -> Option<usize> {
        let all = self.refused.len() + self.failed.len() + self.more;
        Some(all.saturating_sub(named)).filter(|more| *more > 0)
    }

    /// The report in words, for a network of the configuration.
    pub fn lines(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|host| {
            format!("`{}` is not one of the hosts that `isolation.network.allow` lists", printable(host))
        });
        let failed = self.failed.iter().map(|line| format!("not reached: {}", printable(line)));
        let mut lines: Vec<_> = refused.chain(failed).take(MAX_LINES).collect();
        lines.extend(self.unnamed(MAX_LINES).map(|more| format!("and {more} more hosts")));
        lines
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
            state.report.more += 1;
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
        for (_, record) in std::mem::take(&mut self.state().hosts) {
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
        if report.more > 0 {
            let intent = format!("connect to {} more hosts", report.more);
            self.record_refusal(&intent, &AllowedHosts::default().verdict("", None));
        }
        report
    }
}
