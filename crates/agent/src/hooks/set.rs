//! All hooks together, in their order.
//!
//! Invariant: lower priority first, then by name; the first no is the last word.

use super::advice::Meta;
use super::error::HookError;
use super::events::{HookEvent, wants};
use super::process::HookProcess;
use picoclaw_policy::Subject;
use picoclaw_policy::config::HooksConfig;
use picoclaw_sandbox::warden::Warden;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Events that wait for a slow observer; more are dropped.
const BACKLOG: usize = 256;

/// Every enabled hook.
pub struct Hooks {
    pub(super) processes: Vec<Arc<HookProcess>>,
    pub(super) interceptor: Duration,
    pub(super) approval: Duration,
    observers: Vec<(Arc<HookProcess>, mpsc::Sender<serde_json::Value>)>,
    next_event: AtomicU64,
}

impl Hooks {
    /// The hooks of the configuration; nothing runs yet. Must be called inside a runtime.
    pub fn new(config: &HooksConfig, warden: &Arc<Warden>, subject: &Subject) -> Self {
        let mut enabled: Vec<_> =
            config.processes.iter().filter(|hook| config.enabled && hook.enabled).cloned().collect();
        enabled.sort_by(|a, b| a.priority.cmp(&b.priority).then_with(|| a.name.cmp(&b.name)));
        let processes: Vec<_> = enabled
            .into_iter()
            .map(|hook| Arc::new(HookProcess::new(hook, Arc::clone(warden), subject.clone())))
            .collect();
        let limit = Duration::from_millis(config.observer_timeout_ms);
        let observers = processes
            .iter()
            .filter(|process| !process.observes().is_empty())
            .map(|process| (Arc::clone(process), observe(Arc::clone(process), limit)))
            .collect();
        Self {
            processes,
            interceptor: Duration::from_millis(config.interceptor_timeout_ms),
            approval: Duration::from_millis(config.approval_timeout_ms),
            observers,
            next_event: AtomicU64::new(1),
        }
    }

    /// Whether nobody is to be asked or told.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Whether anybody is to be told what happens.
    pub(crate) fn are_told(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Starts every hook that does not run; one that cannot be started fails the turn.
    pub async fn ready(&self) -> Result<(), HookError> {
        for process in &self.processes {
            process.link().await?;
        }
        Ok(())
    }

    /// Tells observers what happened. Nobody waits for them.
    pub fn tell(&self, event: &HookEvent, time: &str, meta: &Meta) {
        if !self.are_told() {
            return;
        }
        let id = self.next_event.fetch_add(1, Ordering::Relaxed);
        let wire = event.wire(id, time, meta);
        for (process, queue) in &self.observers {
            if wants(process.observes(), event.kind) && queue.try_send(wire.clone()).is_err() {
                tracing::warn!(target: "hook", hook = %process.name(), kind = event.kind, "An observer is too slow; an event was dropped");
            }
        }
    }

    /// Gives every hook time to leave, and ends it.
    pub async fn close(&self) {
        for process in &self.processes {
            process.close().await;
        }
    }
}

/// One task an observer: events in their order.
fn observe(process: Arc<HookProcess>, limit: Duration) -> mpsc::Sender<serde_json::Value> {
    let (sender, mut queue) = mpsc::channel::<serde_json::Value>(BACKLOG);
    tokio::spawn(async move {
        while let Some(event) = queue.recv().await {
            if let Err(why) = process.tell("hook.runtime_event", &event, limit).await {
                tracing::warn!(target: "hook", error = %why, "An observer was not told");
            }
        }
    });
    sender
}
