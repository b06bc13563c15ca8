//! The gateway's named tokens: what each of them may do, and the file that keeps their hashes.

mod scope;
mod store;

pub use scope::{ALL_SCOPES, Scope, Scopes, UnknownScope};
pub use store::{NamedToken, TokenStore, TokenStoreError};
