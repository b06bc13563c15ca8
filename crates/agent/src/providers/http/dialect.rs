//! What differs between the wire formats.
//!
//! Invariant: a dialect is pure: it turns requests into JSON and JSON into answers, and connects to nothing.

use crate::providers::provider::{Answer, Class, ProviderError, Request, Sink};
use serde_json::Value;

/// Whether the answer is to come in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum Mode {
    /// As an event stream.
    Stream,
    /// As one document.
    Whole,
}

/// One wire format.
pub(in crate::providers) trait Dialect: Send + Sync {
    /// Puts the pieces of a stream together.
    type Assembler: Assembler;

    /// The body of a request.
    fn body(&self, request: &Request, mode: Mode) -> Value;

    /// The answer in a document.
    fn whole(&self, document: &Value) -> Result<Answer, ProviderError>;

    /// Ready for the first piece of a stream.
    fn assembler(&self) -> Self::Assembler;
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::providers) enum Progress {
    /// More is to come.
    Open,
    /// Everything is there, though more may follow (the usage).
    Complete,
    /// It said that it is over.
    Over,
}

/// An answer in the making.
pub(in crate::providers) trait Assembler: Send {
    /// Takes one event.
    fn event(&mut self, data: &str, sink: &mut dyn Sink) -> Result<Progress, ProviderError>;

    /// The answer, once it is complete.
    fn finish(self) -> Result<Answer, ProviderError>;
}

/// What came back cannot be understood.
pub(in crate::providers) fn malformed(why: impl std::fmt::Display) -> ProviderError {
    ProviderError::new(Class::Malformed, format!("the provider's answer cannot be understood: {why}"))
}
