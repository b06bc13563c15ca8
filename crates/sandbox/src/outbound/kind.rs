//! Connecting to a host, as an effect.
//!
//! Invariant: it holds the addresses that were judged.

use crate::permit::{Effect, Sealed};
use picoclaw_policy::Intent;
use picoclaw_policy::network::{ConnectIntent, Resolution};
use std::net::SocketAddr;

/// Connecting to a host.
#[derive(Debug)]
pub struct Connect(pub(super) ConnectIntent);

impl Sealed for Connect {}

impl Effect for Connect {
    fn intent(&self) -> Intent {
        Intent::Connect(self.0.clone())
    }
}

impl Connect {
    /// The addresses that were judged, with their port.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        match (&self.0.asked, &self.0.resolution) {
            (Ok(address), Resolution::Addresses(found)) => {
                found.iter().map(|ip| SocketAddr::new(*ip, address.port())).collect()
            }
            _ => Vec::new(),
        }
    }
}
