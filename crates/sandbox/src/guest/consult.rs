//! Asking a guest to do something, as an effect.
//!
//! Invariant: the question is in the ledger before it is put, and how it went afterwards.

use crate::permit::{Kind, Permit, Sealed};
use picoclaw_policy::{Intent, McpCallIntent};

/// Asking an MCP server.
#[derive(Debug)]
pub struct Consult(pub McpCallIntent);

impl Sealed for Consult {}

impl Kind for Consult {
    fn intent(&self) -> Intent {
        Intent::McpCall(self.0.clone())
    }
}

impl Permit<Consult> {
    /// Puts the question with `ask`, and records how that went.
    pub fn consult<T, E: std::fmt::Display>(
        self,
        ask: impl FnOnce(&McpCallIntent) -> Result<T, E>,
    ) -> Result<T, E> {
        let (Consult(intent), settling) = self.spend();
        settling.settle(ask(&intent))
    }
}
