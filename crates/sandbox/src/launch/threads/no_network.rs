//! A closed network, which only Linux has.

use picoclaw_sys::SYSTEM;
use std::io;
use std::net::TcpStream;

/// A closed network that several children share. There is none here, so none is ever made.
#[derive(Debug, Clone)]
pub struct ClosedNetwork(());

impl ClosedNetwork {
    /// Refuses.
    pub fn new() -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn connect(&self, _port: u16) -> io::Result<TcpStream> {
        Err(unsupported())
    }
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("there is no closed network on {SYSTEM}"))
}

/// The counters of a closed network.
#[derive(Debug)]
pub struct NetCounters;

impl NetCounters {
    /// Nothing was refused.
    pub fn was_refused(&self) -> bool {
        false
    }

    /// No packet was sent.
    pub fn had_no_route(&self) -> bool {
        false
    }

    /// Nothing was tried.
    pub fn has_tried(&self) -> bool {
        false
    }
}
