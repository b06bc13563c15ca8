//! `picoclaw mcp serve` from the outside: real clients, raw lines, and clients that mean harm.

mod file_calls;
pub(crate) mod http;
mod http_clients;
pub(crate) mod peers;
mod questions;
mod robust;
mod serve;
mod whole_act;
pub(crate) mod wire;
