//! A guest that is in the house, from its start to its end.
//!
//! Invariant: it is in the ledger before it starts; how it left is recorded once; dropping it ends its whole tree.

use crate::launch::{CancelToken, Finished, Running, Status};
use crate::permit::Settling;

/// A guest that runs.
#[derive(Debug)]
pub struct Visitor {
    /// The child, with its pipes.
    pub running: Running,
    settling: Settling,
}

impl Visitor {
    pub(crate) fn new(running: Running, settling: Settling) -> Self {
        Self { running, settling }
    }

    /// Stays with it until its end, its deadline, or until `halt` is raised.
    pub fn finish(self, halt: &CancelToken, watch: &dyn Fn(&[u8])) -> Finished {
        let Self { running, settling } = self;
        let finished = running.finish_with_output(halt, watch);
        settling.settle_as(&finished.status.outcome_text());
        finished
    }

    /// Records an end that the caller has seen.
    pub fn left(self, status: Status) {
        self.settling.settle_as(&status.outcome_text());
    }
}
