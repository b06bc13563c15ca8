//! Why a connection that was allowed was not made.
//!
//! Invariant: a password of a proxy is in none of these texts.

use super::bound::Stopped;
use std::io;
use std::net::SocketAddr;

/// Why a connection that was allowed was not made.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The time was over, or somebody asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Nothing answered.
    #[error("could not connect to `{address}`: {source}")]
    Dial {
        /// Where.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// The host had no address.
    #[error("the host has no address")]
    Nowhere,
    /// `tools.web.proxy` is not usable.
    #[error("`tools.web.proxy`: {0}")]
    Proxy(String),
}

impl OutboundError {
    /// An error of dialling; a wait that was given up is told as such.
    pub(super) fn dial(address: SocketAddr, source: io::Error) -> Self {
        match stopped(&source) {
            Some(why) => Self::Stopped(why),
            None => Self::Dial { address, source },
        }
    }
}

/// Whether an error is a wait that was given up.
pub(super) fn stopped(why: &io::Error) -> Option<Stopped> {
    why.get_ref().and_then(|inner| inner.downcast_ref::<Stopped>()).copied()
}
