//! What a tool is given beside its arguments.

use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::warden::Warden;

/// The context of one call.
#[derive(Clone, Copy)]
pub struct ToolContext<'c> {
    /// Admits effects.
    pub warden: &'c Warden,
    /// On whose behalf.
    pub subject: &'c Subject,
    /// Raised when the call is cancelled.
    pub halt: &'c CancelToken,
    /// Receives the output of a long call as it comes; outside the registry in whole lines, secrets filtered.
    pub watcher: &'c (dyn Fn(&[u8]) + Sync),
}

/// A watcher that ignores the output.
pub fn unwatched(_output: &[u8]) {}
