//! What differs between the wire formats: requests to JSON, and JSON to answers. Pure.

use crate::providers::provider::{Answer, ErrorClass, ProviderError, Request, Sink};
use serde_json::Value;

/// Whether the answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum Mode {
    /// As an event stream.
    Stream,
    /// As one document.
    Whole,
}

/// One wire format.
pub(in crate::providers) trait WireFormat: Send + Sync {
    /// Assembles a streamed answer.
    type Assembler: Assembler;

    /// The body of a request.
    fn body(&self, request: &Request, mode: Mode) -> Value;

    /// Parses a whole answer.
    fn parse(&self, document: &Value) -> Result<Answer, ProviderError>;

    /// An assembler for one stream.
    fn assembler(&self) -> Self::Assembler;
}

/// The progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::providers) enum Progress {
    /// More is to come.
    Open,
    /// The answer is complete; the usage may follow.
    Complete,
    /// The stream has ended.
    Ended,
}

/// Assembles a streamed answer.
pub(in crate::providers) trait Assembler: Send {
    /// Takes one event.
    fn event(&mut self, data: &str, sink: &mut dyn Sink) -> Result<Progress, ProviderError>;

    /// The complete answer.
    fn finish(self) -> Result<Answer, ProviderError>;
}

/// The error for a response that cannot be parsed.
pub(in crate::providers) fn malformed(why: impl std::fmt::Display) -> ProviderError {
    ProviderError::new(ErrorClass::Malformed, format!("the provider's answer cannot be understood: {why}"))
}
