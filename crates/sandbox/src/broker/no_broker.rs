//! A broker, which only Linux has.

use super::connection_log::{ConnectionLog, NetworkReport};
use crate::launch::ClosedNetwork;
use picoclaw_policy::network::AllowedHosts;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

/// A broker. There is no closed network here, so none is ever started.
#[derive(Debug)]
pub(super) struct Broker(Infallible);

impl Broker {
    /// Refuses.
    pub(super) fn start(_: &ClosedNetwork, _: &Arc<AllowedHosts>, _: ConnectionLog) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What was not reached.
    pub(super) fn take_report(&self) -> NetworkReport {
        match self.0 {}
    }
}
