//! The background subagents of one turn, and their results.

use super::event::SubagentInfo;
use crate::providers::Usage;
use picoclaw_sandbox::launch::CancelToken;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Background subagents of one turn, those that wait for a slot included.
const MAX_CHILDREN: usize = 32;

/// The result of a background subagent.
pub(crate) struct ChildResult {
    pub(crate) info: SubagentInfo,
    pub(crate) result: Result<String, String>,
}

impl ChildResult {
    /// The message for the parent's model.
    pub(super) fn text(&self) -> String {
        let SubagentInfo { id, label, .. } = &self.info;
        let name = if label == id { id.clone() } else { format!("'{label}', {id}") };
        match &self.result {
            Ok(answer) => format!("[SubTurn Result] {}\n(subagent {name})", answer.trim_end()),
            Err(why) => format!("[SubTurn Result] Error: {why}\n(subagent {name})"),
        }
    }
}

/// The background subagents of one turn.
#[derive(Default)]
pub(crate) struct Children {
    state: Mutex<State>,
    changed: Notify,
    halt: CancelToken,
}

#[derive(Default)]
struct State {
    running: usize,
    results: VecDeque<ChildResult>,
    usage: Usage,
    needs_approval: bool,
}

/// A subagent that has not ended. Dropped without a result, it counts as lost.
pub(crate) struct ChildGuard {
    children: Arc<Children>,
    info: SubagentInfo,
    result: Option<Result<String, String>>,
}

impl Children {
    /// Adds a subagent, if the limit allows one more.
    pub(crate) fn begin(self: &Arc<Self>, info: &SubagentInfo) -> Result<ChildGuard, String> {
        let mut state = self.state();
        if state.running >= MAX_CHILDREN {
            return Err(format!("{MAX_CHILDREN} subagents of this turn are already running"));
        }
        state.running += 1;
        Ok(ChildGuard { children: Arc::clone(self), info: info.clone(), result: None })
    }

    /// Raised when they are to stop.
    pub(crate) fn halt(&self) -> &CancelToken {
        &self.halt
    }

    /// Stops them all.
    pub(crate) fn stop(&self) {
        self.halt.cancel();
    }

    /// Whether one runs, or has a result that was not taken yet.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state();
        state.running > 0 || !state.results.is_empty()
    }

    /// Takes the oldest result.
    pub(super) fn take(&self) -> Option<ChildResult> {
        self.state().results.pop_front()
    }

    /// Waits until there is a result, or none runs.
    pub(super) async fn changed(&self) {
        loop {
            {
                let state = self.state();
                if state.running == 0 || !state.results.is_empty() {
                    return;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Waits until none runs.
    pub(super) async fn settled(&self) {
        while self.state().running > 0 {
            self.changed.notified().await;
        }
    }

    /// Adds the cost of a subagent, and whether a call of it needed approval in vain.
    pub(crate) fn count(&self, usage: Usage, needs_approval: bool) {
        let mut state = self.state();
        state.usage += usage;
        state.needs_approval |= needs_approval;
    }

    /// The cost of all, and whether a call of one needed approval in vain.
    pub(super) fn counted(&self) -> (Usage, bool) {
        let state = self.state();
        (state.usage, state.needs_approval)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChildGuard {
    /// Ends the subagent with its result.
    pub(crate) fn finish(mut self, result: Result<String, String>) {
        self.result = Some(result);
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let lost = || Err("it was lost: the program could not go on with it".to_owned());
        let result = self.result.take().unwrap_or_else(lost);
        let mut state = self.children.state();
        state.running -= 1;
        state.results.push_back(ChildResult { info: self.info.clone(), result });
        drop(state);
        self.children.changed.notify_one();
    }
}
