//! The running turns, found by the calls that they make.

use super::children::Children;
use super::event::{Event, SubagentEvent, SubagentInfo};
use super::runner::Runner;
use super::subagent_slots::{SubagentSlot, SubagentSlots};
use super::token_budget::TokenBudget;
use super::turn_slots::TurnSlot;
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

/// A running turn, as far as its subagents need it.
pub(crate) struct ActiveTurn {
    pub(crate) subject: Subject,
    pub(crate) halt: CancelToken,
    /// The requested model.
    pub(crate) model: Option<String>,
    pub(crate) budget: TokenBudget,
    pub(crate) runner: Runner,
    pub(crate) runtime: Handle,
    /// Its id among hooks.
    pub(crate) hook_id: String,
    /// The slot of the user's turn above all subagents.
    pub(crate) turn_slot: Option<Arc<TurnSlot>>,
    pub(crate) subagent_slots: Arc<SubagentSlots>,
    /// Its own slot, if it is a subagent.
    pub(crate) subagent_slot: Option<Arc<SubagentSlot>>,
    pub(crate) children: Arc<Children>,
    pub(crate) child_events: UnboundedSender<Event>,
}

impl ActiveTurn {
    /// Waits for work of others; the subagent slot is free meanwhile.
    pub(super) async fn rest_while<T>(&self, wait: impl Future<Output = T>) -> T {
        match &self.subagent_slot {
            Some(slot) => slot.rest_while(wait).await,
            None => wait.await,
        }
    }

    /// Emits an event of a subagent. The events of a turn that is over are dropped.
    pub(crate) fn emit(&self, info: &SubagentInfo, event: SubagentEvent) {
        let _ = self.child_events.send(Event::Subagent { info: info.clone(), event });
    }
}

/// All running turns.
#[derive(Default)]
pub(crate) struct TurnRegistry(Mutex<Vec<Arc<ActiveTurn>>>);

/// A registered turn. Dropping it stops its subagents and removes it from the registry.
pub(super) struct RegisteredTurn {
    registry: Arc<TurnRegistry>,
    turn: Arc<ActiveTurn>,
}

impl TurnRegistry {
    pub(super) fn register(self: &Arc<Self>, turn: ActiveTurn) -> RegisteredTurn {
        let turn = Arc::new(turn);
        self.turns().push(Arc::clone(&turn));
        RegisteredTurn { registry: Arc::clone(self), turn }
    }

    /// The turn in which a call is made.
    pub(crate) fn find(&self, subject: &Subject, halt: &CancelToken) -> Option<Arc<ActiveTurn>> {
        let turns = self.turns();
        turns.iter().find(|turn| turn.halt.is_same(halt) && turn.subject == *subject).cloned()
    }

    fn turns(&self) -> MutexGuard<'_, Vec<Arc<ActiveTurn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for RegisteredTurn {
    type Target = ActiveTurn;

    fn deref(&self) -> &ActiveTurn {
        &self.turn
    }
}

impl Drop for RegisteredTurn {
    fn drop(&mut self) {
        self.turn.children.stop();
        self.registry.turns().retain(|turn| !Arc::ptr_eq(turn, &self.turn));
    }
}
