//! What a person answers. Each porch puts the question in its own way: terminal, HTTP, MCP client, or nobody.
//!
//! Invariant: an answer is bound to the content that was shown; silence is a no.

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this one time.
    Once,
    /// Yes, and for the same content again in this session.
    Session,
    /// No.
    No,
}
