//! Networks that commands share or that are reached from outside: a loopback interface of their
//! own, and the hosts that are allowed by name.
//!
//! Invariant: what leaves such a network is a connection to an entry of `isolation.network.allow`,
//! recorded before it is made. Its host is resolved then, outside; no query of a command is passed
//! on.

#[cfg(target_os = "linux")]
mod broker_linux;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no broker"))]
mod connection_log;
#[cfg(target_os = "linux")]
mod dns_message;
#[cfg(target_os = "linux")]
mod fd_budget;
#[cfg(target_os = "linux")]
mod name_service;
#[cfg(not(target_os = "linux"))]
mod no_broker;

#[cfg(target_os = "linux")]
use broker_linux::Broker;
#[cfg(not(target_os = "linux"))]
use no_broker::Broker;

pub use connection_log::NetworkReport;
#[cfg(target_os = "linux")]
pub(crate) use name_service::show_name_service;

use crate::launch::{ChildSetup, ClosedNetwork};
use crate::permit::OutcomeGuard;
use connection_log::ConnectionLog;
use picoclaw_policy::network::AllowedHosts;
use std::io;
use std::sync::Arc;

/// The network of one command or of several. Connections to the outside end with its last clone.
#[derive(Debug, Clone)]
pub struct CommandNetwork {
    closed: ClosedNetwork,
    broker: Option<Arc<Broker>>,
}

impl CommandNetwork {
    /// A new network, which reaches these hosts on behalf of the command of `outcome`.
    pub(crate) fn new(hosts: Option<&Arc<AllowedHosts>>, outcome: &OutcomeGuard) -> io::Result<Self> {
        let closed = ClosedNetwork::new()?;
        let Some(hosts) = hosts else { return Ok(Self { closed, broker: None }) };
        let (ledger, command) = outcome.record().ok_or(io::ErrorKind::InvalidInput)?;
        let log = ConnectionLog::new(Arc::clone(ledger), command.clone());
        let broker = Some(Arc::new(Broker::start(&closed, hosts, log)?));
        Ok(Self { closed, broker })
    }

    /// Puts a child into it.
    pub(crate) fn join(&self, setup: &mut ChildSetup) {
        setup.join_network(&self.closed);
    }

    /// The loopback of its own.
    pub(crate) fn closed(&self) -> &ClosedNetwork {
        &self.closed
    }

    /// Hosts that were asked for and not reached since the last call.
    pub(crate) fn take_report(&self) -> NetworkReport {
        self.broker.as_ref().map(|broker| broker.take_report()).unwrap_or_default()
    }
}
