//! Errors of connecting. No message contains the password of a proxy.

use crate::dial::WaitEnded;
use std::io;
use std::net::SocketAddr;

/// Why a permitted connection was not made.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The wait was given up.
    #[error(transparent)]
    Stopped(#[from] WaitEnded),
    /// The connection failed.
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
    /// An error of dialling, or the end of the wait for it.
    pub(super) fn dial(address: SocketAddr, source: io::Error) -> Self {
        match wait_ended(&source) {
            Some(why) => Self::Stopped(why),
            None => Self::Dial { address, source },
        }
    }
}

/// Whether an error is a wait that was given up.
pub(super) fn wait_ended(why: &io::Error) -> Option<WaitEnded> {
    why.get_ref().and_then(|inner| inner.downcast_ref::<WaitEnded>()).copied()
}
