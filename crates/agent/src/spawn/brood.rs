//! The subagents that one turn has in the background, and what they brought back.
//!
//! Invariant: every subagent that began ends in exactly one piece of news, even if its thread did not end well.

use super::news::Who;
use crate::providers::Usage;
use picoclaw_sandbox::launch::CancelToken;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How many of one turn's may be under way, those that wait for a place included.
const MOST: usize = 32;

/// What a subagent brought back.
pub(crate) struct Brought {
    pub(crate) who: Who,
    /// As its parent's model is told.
    pub(crate) text: String,
}

/// One turn's subagents.
#[derive(Default)]
pub(crate) struct Brood {
    state: Mutex<State>,
    bell: Notify,
    halt: CancelToken,
}

#[derive(Default)]
struct State {
    busy: usize,
    brought: VecDeque<Brought>,
    usage: Usage,
    is_unasked: bool,
}

/// One that is under way; dropped, it has ended.
pub(super) struct Underway {
    brood: Arc<Brood>,
    who: Who,
    text: Option<String>,
}

impl Brood {
    /// One more, if there is room.
    pub(super) fn begin(self: &Arc<Self>, who: &Who) -> Result<Underway, String> {
        let mut state = self.state();
        if state.busy >= MOST {
            return Err(format!("{MOST} subagents of this turn are under way already"));
        }
        state.busy += 1;
        Ok(Underway { brood: Arc::clone(self), who: who.clone(), text: None })
    }

    /// Raised when they are to stop.
    pub(super) fn halt(&self) -> &CancelToken {
        &self.halt
    }

    /// Stops them all.
    pub(crate) fn stop(&self) {
        self.halt.cancel();
    }

    /// Whether one is under way, or something was brought and not taken yet.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        state.busy > 0 || !state.brought.is_empty()
    }

    /// Takes the oldest that was brought.
    pub(crate) fn take(&self) -> Option<Brought> {
        self.state().brought.pop_front()
    }

    /// Waits until something was brought, or nobody is under way any more.
    pub(crate) async fn changed(&self) {
        loop {
            {
                let state = self.state();
                if state.busy == 0 || !state.brought.is_empty() {
                    return;
                }
            }
            self.bell.notified().await;
        }
    }

    /// Waits until nobody is under way.
    pub(crate) async fn settled(&self) {
        while self.state().busy > 0 {
            self.bell.notified().await;
        }
    }

    /// What a subagent cost, and whether it had a question that nobody could be asked.
    pub(super) fn count(&self, usage: Usage, is_unasked: bool) {
        let mut state = self.state();
        state.usage.input += usage.input;
        state.usage.output += usage.output;
        state.is_unasked |= is_unasked;
    }

    /// What all of them cost, and whether one had a question that nobody could be asked.
    pub(crate) fn counted(&self) -> (Usage, bool) {
        let state = self.state();
        (state.usage, state.is_unasked)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Underway {
    /// It has ended, and this is what its parent is told.
    pub(super) fn brings(mut self, text: String) {
        self.text = Some(text);
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let lost = || {
            super::wording::result(
                &self.who,
                &Err("it was lost: the program could not go on with it".to_owned()),
            )
        };
        let text = self.text.take().unwrap_or_else(lost);
        let mut state = self.brood.state();
        state.busy -= 1;
        state.brought.push_back(Brought { who: self.who.clone(), text });
        drop(state);
        self.brood.bell.notify_one();
    }
}
