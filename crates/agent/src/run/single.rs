//! One call that no model made: a scheduled command.
//!
//! Invariant: it takes the way of every other call of a turn, past the same hooks.

use super::calls::{self, Way};
use super::escort::Escort;
use super::event::Event;
use super::runner::Runner;
use super::turn::{Turn, TurnError};
use crate::call::Reply;
use crate::hall::Hall;
use crate::message::ToolCall;

impl Runner {
    /// Runs one call on behalf of `turn`'s subject, through the tools of `hall`.
    pub async fn single(&self, hall: &Hall, call: &ToolCall, turn: &Turn<'_>) -> Result<Reply, TurnError> {
        if turn.halt.is_cancelled() {
            return Err(TurnError::Halted);
        }
        let hooks = self.retinue.ready(&self.hall, turn.events).await?;
        let escort = Escort::new(hooks, &turn.subject, None);
        let told = |event: Event| {
            escort.tell_event(&event);
            (turn.events)(event);
        };
        let watched = Turn { events: &told, ..turn.again() };
        calls::run(&Way { hall, escort: &escort, lane: None, round: 0 }, call, &watched, &self.redactor).await
    }
}
