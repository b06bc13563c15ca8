//! Streamable HTTP, for clients that did not start this process.

mod auth;
mod disconnect;
mod listen;

pub use crate::http_guard::Token;
pub(super) use disconnect::disconnect_token;
pub use listen::serve;
