//! Process hooks: the operator's programs that observe turns and may narrow what happens in them.
//!
//! A hook speaks JSON-RPC 2.0 on its standard streams, one object per line, and runs as a helper in
//! an environment of its own. A hook that intercepts and does not answer, answers something invalid
//! or has exited fails what it was asked about.

mod answer;
mod call_hooks;
mod connection;
mod decision;
mod dispatch;
mod error;
mod events;
mod process;
mod turn_hooks;

pub use call_hooks::CallHooks;
pub use decision::{Decision, HookReply, Meta, ToolDecision};
pub use error::HookError;
pub use events::HookEvent;
pub use turn_hooks::HookAbort;
pub(crate) use turn_hooks::{HookOutcome, TurnHooks};

use picoclaw_policy::Subject;
use picoclaw_policy::config::HooksConfig;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::warden::Warden;
use process::HookProcess;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Events that may wait for a slow observer; later ones are dropped.
const MAX_QUEUED_EVENTS: usize = 256;

/// How long observers may take for the events that wait when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// What waits for an observer.
enum Queued {
    Event(Value),
    /// Everything before it was sent.
    Flush(oneshot::Sender<()>),
}

/// Every enabled hook, by priority and then by name.
pub struct Hooks {
    processes: Vec<Arc<HookProcess>>,
    interceptor_timeout: Duration,
    approval_timeout: Duration,
    observers: Vec<(Arc<HookProcess>, mpsc::Sender<Queued>)>,
    next_event: AtomicU64,
}

impl Hooks {
    /// The configured hooks; none is started yet. Must be called inside a runtime.
    pub fn new(config: &HooksConfig, warden: &Arc<Warden>, subject: &Subject) -> Self {
        let mut enabled: Vec<_> =
            config.processes.iter().filter(|hook| config.enabled && hook.enabled).cloned().collect();
        enabled.sort_by(|a, b| a.priority.cmp(&b.priority).then_with(|| a.name.cmp(&b.name)));
        let processes: Vec<_> = enabled
            .into_iter()
            .map(|hook| Arc::new(HookProcess::new(hook, Arc::clone(warden), subject.clone())))
            .collect();
        for process in &processes {
            for kind in process.observes().iter().filter(|kind| !events::knows_kind(kind)) {
                tracing::warn!(target: "hooks", hook = process.name(), observe = kind, "No event has this name");
            }
        }
        let timeout = Duration::from_millis(config.observer_timeout_ms);
        let observers = processes
            .iter()
            .filter(|process| !process.observes().is_empty())
            .map(|process| (Arc::clone(process), spawn_observer(Arc::clone(process), timeout)))
            .collect();
        Self {
            processes,
            interceptor_timeout: Duration::from_millis(config.interceptor_timeout_ms),
            approval_timeout: Duration::from_millis(config.approval_timeout_ms),
            observers,
            next_event: AtomicU64::new(1),
        }
    }

    /// Whether there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Whether any hook observes events.
    pub(crate) fn has_observers(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Starts every hook that does not run; a turn fails when one cannot be started.
    pub async fn start_all(&self) -> Result<(), HookError> {
        for process in &self.processes {
            process.connection().await?;
        }
        Ok(())
    }

    /// Queues an event for the observers, without waiting for them.
    pub fn notify(&self, event: &HookEvent, meta: &Meta) {
        if !self.has_observers() {
            return;
        }
        let id = self.next_event.fetch_add(1, Ordering::Relaxed);
        let params = event.to_json(id, &Timestamp::now().to_string(), meta);
        for (process, queue) in &self.observers {
            if events::wants(process.observes(), event.kind)
                && queue.try_send(Queued::Event(params.clone())).is_err()
            {
                tracing::warn!(target: "hook", hook = %process.name(), kind = event.kind, "An observer is too slow; an event was dropped");
            }
        }
    }

    /// Ends every hook, after giving it time to exit.
    pub async fn close(&self) {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.flush()).await;
        for process in &self.processes {
            process.close().await;
        }
    }
}

impl Hooks {
    /// Waits until the observers were sent every event: the last ones of a program are those that
    /// say how its turn ended.
    async fn flush(&self) {
        for (_, queue) in &self.observers {
            let (sender, sent) = oneshot::channel();
            if queue.send(Queued::Flush(sender)).await.is_ok() {
                let _ = sent.await;
            }
        }
    }
}

/// One task per observer keeps its events in order.
fn spawn_observer(process: Arc<HookProcess>, timeout: Duration) -> mpsc::Sender<Queued> {
    let (sender, mut queue) = mpsc::channel(MAX_QUEUED_EVENTS);
    tokio::spawn(async move {
        while let Some(queued) = queue.recv().await {
            let event = match queued {
                Queued::Event(event) => event,
                Queued::Flush(done) => {
                    let _ = done.send(());
                    continue;
                }
            };
            if let Err(why) = process.notify("hook.runtime_event", &event, timeout).await {
                tracing::warn!(target: "hook", error = %why, "An observer was not notified");
            }
        }
    });
    sender
}
