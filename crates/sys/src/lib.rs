//! The cellar: thin wrappers where rustix stops, and the one place that creates processes.
//!
//! Everything here is mechanism. Which child may start, with what in it, is decided upstairs; this crate only
//! carries the description out, and says which step the kernel refused.
//!
//! Invariant: no other crate holds `unsafe`, and nothing here decides who may do what.

#[cfg(target_os = "linux")]
pub mod linux;
