//! The ledger from outside: what is promised, under crashes, faults, tampering and company.
//!
//! Invariant: nothing here reaches into the ledger's own code to decide what is right.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tests start writers to kill, and change files as a stranger would"
)]

#[cfg(test)]
#[cfg(test)]
mod durable;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod format;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod sudden;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tamper;
