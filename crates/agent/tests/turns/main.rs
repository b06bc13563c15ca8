//! Turns from the outside of the crate: a mind that was written down, real tools, a real ledger, real sessions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests arrange files by hand and stop where they cannot go on"
)]

mod agents;
mod budgets;
mod fixture;
mod heartbeats;
mod hooks;
mod instructions;
mod interrupts;
mod rounds;
mod scheduled;
mod secrets;
mod sessions;
mod subagents;
mod tidying;
