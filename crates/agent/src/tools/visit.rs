//! What a tool is given beside its arguments: the warden, on whose behalf, and the wish to stop.
//!
//! Invariant: a visit borrows; it outlives no call.

use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::warden::Warden;

/// One call's way through the house.
#[derive(Clone, Copy)]
pub struct Visit<'v> {
    /// Who hands out keys.
    pub warden: &'v Warden,
    /// On whose behalf.
    pub subject: &'v Subject,
    /// Raised when nobody waits for the answer any more.
    pub halt: &'v CancelToken,
    /// Hears the output of a long call as it comes; outside the registry in whole lines, secrets filtered.
    pub watcher: &'v (dyn Fn(&[u8]) + Sync),
}

/// Nobody listens.
pub fn unwatched(_output: &[u8]) {}
