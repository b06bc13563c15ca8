//! Changing or reading the list of scheduled jobs, as an effect.
//!
//! Invariant: what is asked of the list is in the ledger before it is done, and how it went afterwards.

use crate::permit::{Kind, Permit, Sealed};
use picoclaw_policy::{Intent, ScheduleIntent};

/// Doing something with a scheduled job.
#[derive(Debug)]
pub struct Agenda(pub ScheduleIntent);

impl Sealed for Agenda {}

impl Kind for Agenda {
    fn intent(&self) -> Intent {
        Intent::Schedule(self.0.clone())
    }
}

impl Permit<Agenda> {
    /// Does it, and records how that went.
    pub fn arrange<T, E: std::fmt::Display>(self, act: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (_, settling) = self.spend();
        settling.settle(act())
    }
}
