//! A turn that runs, as its subagents need to know it.
//!
//! Invariant: what a subagent gets is taken from here: slot, tokens, time and model of the turn above it.

use super::brood::Brood;
use super::news::{Subturn, Turning, Who};
use super::register::Register;
use super::slots::{Slot, Slots};
use crate::run::{Allowance, Event, Lane, Runner};
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use std::future::Future;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

/// What a subagent's turn takes from the one above it.
pub(crate) struct Above {
    pub(crate) slots: Arc<Slots>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) allowance: Allowance,
    /// The name of that turn among hooks.
    pub(crate) turn: String,
    /// The lane of the person's turn above all of them.
    pub(crate) lane: Option<Arc<Lane>>,
}

/// A running turn.
pub(crate) struct Present {
    pub(super) subject: Subject,
    pub(super) halt: CancelToken,
    /// The model that was asked for by name.
    pub(super) model: Option<String>,
    pub(super) allowance: Allowance,
    pub(super) runner: Runner,
    /// Its name among hooks.
    pub(super) turn: String,
    pub(super) lane: Option<Arc<Lane>>,
    pub(super) runtime: Handle,
    pub(super) slots: Arc<Slots>,
    /// Its own place, where it is a subagent itself.
    pub(super) slot: Option<Arc<Slot>>,
    pub(super) register: Arc<Register>,
    pub(super) brood: Arc<Brood>,
    pub(super) news: UnboundedSender<Event>,
}

impl Present {
    /// Its subagents in the background.
    pub(crate) fn brood(&self) -> &Brood {
        &self.brood
    }

    /// Waits for something that others do; its place is free meanwhile.
    pub(crate) async fn rest_while<T>(&self, wait: impl Future<Output = T>) -> T {
        match &self.slot {
            Some(slot) => slot.rest_while(wait).await,
            None => wait.await,
        }
    }

    /// Tells whoever watches this turn. A turn that is over has no watcher, and nobody to miss it.
    pub(super) fn tell(&self, who: &Who, what: Turning) {
        let _unheard = self.news.send(Event::Subturn(Subturn { who: who.clone(), what }));
    }
}
