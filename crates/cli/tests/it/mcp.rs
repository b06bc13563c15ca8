//! `picoclaw mcp serve` from the outside: real clients, raw lines, and clients that mean harm.

pub(crate) mod http;
pub(crate) mod peers;
mod questions;
mod quick;
mod robust;
mod serve;
pub(crate) mod wire;
