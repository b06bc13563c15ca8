//! Providers over HTTP. Responses are bounded in size and time, and a key goes to its own origin
//! alone.

mod endpoint;
mod error_class;
mod provider;
mod stream;
mod wire_format;

pub(super) use endpoint::Endpoint;
pub(super) use error_class::from_document;
pub(super) use provider::HttpProvider;
pub(super) use wire_format::{Assembler, Mode, Progress, WireFormat, malformed};
