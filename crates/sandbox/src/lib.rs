//! Warden and rooms: effects, under authority.
//!
//! Looking is free, doing needs a [`Permit`](permit::Permit), and only the [`Warden`](warden::Warden) mints
//! one, after the desk has judged and the ledger has written. This crate is synchronous.
//!
//! Invariant: an effect that is not in the ledger cannot be expressed.

pub mod agenda;
pub mod approver;
mod boot;
pub mod bounded_lines;
pub mod confine;
pub mod exec;
pub mod file_lock;
pub mod files;
pub mod guest;
pub mod instance;
pub mod isolate;
pub mod launch;
pub mod lectern;
pub mod ledger;
pub mod line_proxy;
pub mod outbound;
pub mod permit;
pub mod presence;
mod printable;
pub mod readiness;
mod redact;
pub mod root;
pub mod spawn;
pub mod state_dir;
pub mod terminal;
pub mod warden;

pub use printable::{printable, printable_json, printable_lines};
pub use redact::Redactor;
