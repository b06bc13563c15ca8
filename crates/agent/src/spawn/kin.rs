//! Every turn that runs, found by the calls that it makes.
//!
//! Invariant: a call finds the very turn it was made in, or none; a turn that is over is not found, and its subagents stop.

use super::brood::Brood;
use super::present::{Above, Present};
use super::register::Register;
use super::slots::Slots;
use super::tools;
use crate::run::{Allowance, Event, Lane, Runner};
use crate::tools::Tool;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How many sessions are remembered.
const KEPT: usize = 256;

/// Every running turn.
#[derive(Default)]
pub(crate) struct Kin {
    present: Mutex<Vec<Arc<Present>>>,
    registers: Mutex<BTreeMap<Whose, Arc<Register>>>,
    count: AtomicU64,
}

type Whose = (AgentId, String, u32);

/// A turn that begins.
pub(crate) struct Arrival<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) halt: &'a CancelToken,
    pub(crate) model: Option<String>,
    pub(crate) allowance: Allowance,
    pub(crate) runner: Runner,
    /// Its name among hooks.
    pub(crate) turn: &'a str,
    pub(crate) lane: Option<Arc<Lane>>,
    /// Nothing for a person's own turn.
    pub(crate) above: Option<&'a Above>,
}

/// A turn while it runs. Dropped, the turn is over and its subagents stop.
pub(crate) struct Attending {
    kin: Arc<Kin>,
    present: Arc<Present>,
    /// What its subagents have to tell.
    pub(crate) news: UnboundedReceiver<Event>,
}

impl Kin {
    /// The tools that start subagents.
    pub(crate) fn tools(self: &Arc<Self>, config: &Config) -> Vec<Arc<dyn Tool>> {
        tools::all(self, config)
    }

    /// A turn begins. Called inside the runtime that it runs in.
    pub(crate) fn enter(self: &Arc<Self>, arrival: Arrival<'_>) -> Attending {
        let Arrival { subject, halt, model, allowance, runner, turn, lane, above } = arrival;
        let (sender, news) = unbounded_channel();
        let slots =
            above.map_or_else(|| Slots::new(&runner.config().turns.subturn), |a| Arc::clone(&a.slots));
        let present = Arc::new(Present {
            subject: subject.clone(),
            halt: halt.clone(),
            model,
            allowance,
            runner,
            turn: turn.to_owned(),
            lane,
            runtime: Handle::current(),
            slots,
            slot: above.map(|above| Arc::clone(&above.slot)),
            register: self.register(subject),
            brood: Arc::new(Brood::default()),
            news: sender,
        });
        self.present().push(Arc::clone(&present));
        Attending { kin: Arc::clone(self), present, news }
    }

    /// The turn in which a call is made.
    pub(super) fn find(&self, subject: &Subject, halt: &CancelToken) -> Option<Arc<Present>> {
        let present = self.present();
        present.iter().find(|turn| turn.halt.is_same(halt) && turn.subject == *subject).cloned()
    }

    /// What became of a session's subagents.
    pub(super) fn register(&self, subject: &Subject) -> Arc<Register> {
        let mut registers = self.registers.lock().unwrap_or_else(PoisonError::into_inner);
        if registers.len() >= KEPT {
            registers.retain(|_, register| !register.is_idle());
        }
        Arc::clone(registers.entry(whose(subject)).or_default())
    }

    /// A name that no other subagent of this program has.
    pub(super) fn name(&self) -> String {
        format!("subagent-{}", self.count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn leave(&self, present: &Arc<Present>) {
        self.present().retain(|turn| !Arc::ptr_eq(turn, present));
        // Nobody comes back to a subagent's session.
        if present.subject.depth > 0 {
            let mut registers = self.registers.lock().unwrap_or_else(PoisonError::into_inner);
            registers.remove(&whose(&present.subject));
        }
    }

    fn present(&self) -> MutexGuard<'_, Vec<Arc<Present>>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attending {
    /// The turn itself.
    pub(crate) fn present(&self) -> Arc<Present> {
        Arc::clone(&self.present)
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.present.brood.stop();
        self.kin.leave(&self.present);
    }
}

fn whose(subject: &Subject) -> Whose {
    (subject.agent.clone(), subject.session.clone(), subject.depth)
}
