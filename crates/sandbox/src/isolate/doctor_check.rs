//! What `picoclaw doctor` asks of a cage, and what a child observed.

use picoclaw_policy::config::{Limits, Network};
use std::net::SocketAddr;
use std::path::Path;

/// One question, and what a child in the cage observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorCheck {
    /// The question, in plain words.
    pub question: &'static str,
    /// The layer that answers it.
    pub layer: &'static str,
    /// The observation that keeps the promise.
    pub expected: &'static str,
    /// What was observed.
    pub observed: String,
    /// Whether the promise was kept.
    pub result: CheckResult,
}

/// Whether a promise was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckResult {
    /// It was.
    Kept,
    /// It was not.
    Broken,
    /// The cage does not promise it.
    NotPromised,
}

/// Whether a child is meant to see the host's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Hidden.
    Hidden,
    /// The host's `/proc` names them; they are out of reach in a pid namespace.
    Named,
    /// There is no pid namespace.
    Visible,
}

/// What a child would reach if the cage did not hold, and what the cage promises.
#[derive(Debug)]
pub struct Decoys<'b> {
    /// The operator's home.
    pub home: &'b Path,
    /// An existing file outside that no child may read.
    pub secret: &'b Path,
    /// A directory outside that this user may write.
    pub writable: &'b Path,
    /// A socket of this process where the child works; `None` if there is none to try.
    pub socket: Option<&'b Path>,
    /// Whether the cage promises that it cannot be reached.
    pub sockets_held: bool,
    /// Where this process listens on the host's loopback interface; `None` if it does not.
    pub address: Option<SocketAddr>,
    /// A variable of this process that no child may see.
    pub variable: &'b str,
    /// The network of the cage.
    pub network: Network,
    /// Whether the cage hides processes.
    pub processes: Visibility,
    /// The limits of the cage; small ones are tried.
    pub limits: Limits,
    /// This program, visible in the cage, which takes memory and connects there; `None` leaves that
    /// out.
    pub program: Option<&'b Path>,
}
