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
    /// Hosts that are allowed and could not be reached, with the reason.
    pub failed: Vec<String>,
}

impl NetworkReport {
    /// The report in words, for a network of the configuration.
    pub fn lines(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|host| {
            format!("`{}` is not one of the hosts that `isolation.network.allow` lists", printable(host))
        });
        let failed = self.failed.iter().map(|line| format!("not reached: {}", printable(line)));
        refused.chain(failed).take(MAX_LINES).collect()
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
    refused: usize,
}

#[derive(Debug)]
struct HostRecord {
    outcome: OutcomeGuard,
    connections: usize,
    failed: usize,
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
                place.insert(HostRecord { outcome, connections: 0, failed: 0 })
            }
        };
        record.connections += 1;
        Ok(())
    }

    /// Notes a permitted connection that failed.
    pub(super) fn failed(&self, host: &str, port: u16, why: &str) {
        let mut state = self.state();
        if let Some(record) = state.hosts.get_mut(&(host.to_owned(), port)) {
            record.failed += 1;
        }
        let line = format!("{host}:{port}: {why}");
        if !state.report.failed.contains(&line) && state.report.failed.len() < MAX_REFUSED {
            state.report.failed.push(line);
        }
    }

    /// Records a name that is refused, once.
    pub(super) fn refuse(&self, hosts: &AllowedHosts, host: &str) {
        let mut state = self.state();
        if state.refused >= MAX_REFUSED || state.report.refused.iter().any(|known| known == host) {
            return;
        }
        state.refused += 1;
        state.report.refused.push(host.to_owned());
        let decided = self.command.beside(TOOL, &format!("connect {host}"), &hosts.verdict(host, None));
        let finished = decided.clone().finished("refused", Duration::ZERO);
        if let Err(why) = self.ledger.append(&[decided, finished]) {
            tracing::error!(target: "ledger", error = %why, "A refused host was not recorded");
        }
    }

    /// Records how the connections went. Those that are made later have records of their own.
    pub(super) fn settle(&self) {
        for (_, record) in std::mem::take(&mut self.state().hosts) {
            let HostRecord { outcome, connections, failed } = record;
            outcome.settle_as(&match failed {
                0 => format!("ok: {connections} connections"),
                failed => format!("{failed} of {connections} connections failed"),
            });
        }
    }

    /// What was not reached since the last call.
    pub(super) fn take_report(&self) -> NetworkReport {
        std::mem::take(&mut self.state().report)
    }
}
