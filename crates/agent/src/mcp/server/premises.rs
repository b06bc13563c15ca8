//! What all connections of one server share: the hall, the tools on offer, and the bounds.
//!
//! Invariant: the work that clients can cause at once is bounded, however many they are.

use super::catalogue;
use super::charter::Charter;
use super::waiting_room::WaitingRoom;
use crate::executor::ToolExecutor;
use crate::hooks::CallHooks;
use picoclaw_policy::Subject;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::Redactor;
use rmcp::model::Tool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OnceCell, Semaphore};

/// How many calls run at once.
const CALLS: usize = 32;

/// How many connections, or requests of clients without one, are there at once.
const SEATS: usize = 128;

/// One server's own.
pub struct Premises {
    pub(super) hall: ToolExecutor,
    /// On whose behalf; a connection with a session of its own puts its name in.
    pub(super) subject: Subject,
    pub(super) charter: Charter,
    pub(super) redactor: Redactor,
    pub(super) calls: Semaphore,
    pub(super) waiting: WaitingRoom,
    tools: Vec<Tool>,
    config: Arc<Config>,
    /// The hooks, started with the first call.
    attendance: OnceCell<Option<CallHooks>>,
    seats: AtomicUsize,
    sessions: AtomicUsize,
}

impl Premises {
    /// A server of `subject`'s, over this hall.
    pub fn new(hall: ToolExecutor, config: Arc<Config>, subject: Subject) -> Arc<Self> {
        let tools = catalogue::all(&hall.registry());
        let names = tools.iter().map(|tool| tool.name.to_string()).collect();
        let redactor = Redactor::new(&config.secrets);
        Arc::new(Self {
            hall,
            subject,
            charter: Charter::new(Arc::clone(&config), names),
            config,
            attendance: OnceCell::new(),
            redactor,
            calls: Semaphore::new(CALLS),
            waiting: WaitingRoom::default(),
            tools,
            seats: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
        })
    }

    /// The tools that are on offer, in the order of their names.
    pub(super) fn offered(&self) -> Vec<&Tool> {
        let policy = self.hall.warden().policy();
        self.tools.iter().filter(|tool| policy.offers(&tool.name, &self.subject).is_ok()).collect()
    }

    /// Whether calls pass hooks, which have to be waited for.
    pub(super) fn is_attended(&self) -> bool {
        self.config.hooks.are_any()
    }

    /// The hooks that calls pass, if there are any.
    pub(super) async fn attendance(&self) -> Option<&CallHooks> {
        self.attendance.get_or_init(async || CallHooks::of(&self.config, &self.hall)).await.as_ref()
    }

    /// Gives the hooks time to leave.
    pub async fn close(&self) {
        if let Some(Some(attendance)) = self.attendance.get() {
            attendance.close().await;
        }
    }

    /// A name for a session that no other connection has.
    pub(super) fn fresh_session(&self) -> String {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{number}", self.subject.session)
    }

    /// A seat for one more, if there is one.
    pub(super) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let taken = self.seats.fetch_add(1, Ordering::AcqRel);
        let seat = Seat(Arc::clone(self));
        (taken < SEATS).then_some(seat)
    }
}

/// A connection's place; it is free again when this is dropped.
pub(super) struct Seat(Arc<Premises>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.seats.fetch_sub(1, Ordering::AcqRel);
    }
}
