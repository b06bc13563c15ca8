//! Starting a subagent, as an effect: the ledger knows who was started before it thinks its first thought.
//!
//! Invariant: one record before it starts, and one when it has ended, however long that takes.

use crate::permit::{Kind, Permit, Sealed};
use picoclaw_policy::{Intent, SpawnIntent};
use std::fmt::Display;

/// Starting a subagent.
#[derive(Debug)]
pub struct Spawn(pub SpawnIntent);

impl Sealed for Spawn {}

impl Kind for Spawn {
    fn intent(&self) -> Intent {
        Intent::Spawn(self.0.clone())
    }
}

impl Permit<Spawn> {
    /// The subagent has ended so.
    pub fn ended<T, E: Display>(self, how: Result<T, E>) -> Result<T, E> {
        let (_, settling) = self.spend();
        settling.settle(how)
    }
}
