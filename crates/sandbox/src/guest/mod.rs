//! Guests: programs of the operator's that the house needs beside it. MCP servers, hooks, command-line providers.
//!
//! The configuration names them, so they see their own program and the paths in their own command line; what they
//! answer is as untrusted as a model's words. Each has a user environment of its own.
//!
//! Invariant: a guest is caged whenever isolation is on, and never has more than its own part of the instance.

mod consult;
mod error;
mod lodge;
mod stay;
mod visitor;

pub use consult::Consult;
pub use error::GuestError;
pub use lodge::Lodge;
pub use stay::Guest;
pub use visitor::Visitor;
