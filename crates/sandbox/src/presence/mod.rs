//! Presence: which programs of an instance run, and the one gateway among them.
//!
//! The PID file tells others where the gateway is and which token it takes. Whether it runs is a question for the lock on
//! `.picoclaw.lock` alone, which the kernel lets go of with the process: a number in a file may be another machine's, a
//! container's, or somebody else's by now, and PID 1 is always somebody. Every program that works for the instance is on
//! the roll besides, under a lock of its own, so that `picoclaw stop` finds whom to stop.
//!
//! Invariant: nobody is taken for running, or for ours, on the word of a file.

mod error;
mod gateway;
mod lock;
mod record;
mod roll;

pub use error::PresenceError;
pub use gateway::Presence;
pub use record::Recorded;
pub use roll::{Member, Role, Roll, Signed, Stopped};
