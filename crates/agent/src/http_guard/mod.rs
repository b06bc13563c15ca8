//! Checks and limits that every HTTP listener shares: Host, Origin, bearer token, timeouts and the
//! number of connections. All of them apply before a request body is read.

mod connection_slots;
mod guess_limit;
mod host;
mod listener;
mod timeouts;
mod token;

pub(crate) use connection_slots::{ConnectionSlot, ConnectionSlots};
pub(crate) use guess_limit::GuessLimit;
pub(crate) use host::{AllowedHosts, check_host_and_origin};
pub(crate) use listener::{WhenFull, serve};
pub(crate) use timeouts::BodyTimeout;
pub(crate) use token::Sent;
pub use token::{Strength, Token, TokenError};
