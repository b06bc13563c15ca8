//! Warden and rooms: effects under authority.
//!
//! Invariant: synchronous, and nothing here happens without a record of it.

pub mod ledger;
mod printable;
mod redact;

pub use printable::{printable, printable_json, printable_lines};
pub use redact::Redactor;
