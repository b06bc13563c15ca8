//! The hall: untrusted strategy that may only ask.
//!
//! Tools turn a [`Call`](call::Call) into one intent and carry it to the warden; none of them can open a path
//! or start a process by itself.
//!
//! Invariant: nothing in this crate holds power; every effect passes the desk.

pub mod call;
pub mod call_hooks;
pub mod gateway;
pub mod hall;
pub mod hooks;
pub mod http_guard;
pub mod inquiry;
mod jsonrpc;
mod line_reader;
pub mod mcp;
pub mod message;
pub mod providers;
pub mod run;
pub mod schedule;
pub mod sessions;
pub mod spawn;
pub mod tools;
