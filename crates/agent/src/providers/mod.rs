//! Providers: where answers come from.
//!
//! Invariant: a provider gets text and gives text; it holds no key to any room.

mod provider;

pub use provider::{Answer, Class, Finish, Provider, ProviderError, Reading, Request, Sink, ToolSpec, Usage};
