//! The gateway's shared state and its lifecycle.

use super::access::Access;
use super::approvals::Approvals;
use super::background::{self, BackgroundError, BackgroundTasks};
use super::event_bus::EventBus;
use super::ledger_tail;
use super::metrics::Counters;
use super::reload::Reload;
use super::services::Services;
use crate::call::Reply;
use crate::http_guard::ConnectionSlots;
use crate::run::{Event, SubagentEvent};
use crate::schedule::cron::Store;
use crate::tokens::TokenStore;
use picoclaw_policy::Subject;
use picoclaw_sandbox::presence::GatewayLock;
use picoclaw_sandbox::shortened;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at once, where the descriptor limit allows them.
const MAX_CONNECTIONS: usize = 2048;

/// How long running turns may take to finish at shutdown.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// How long cancelled turns may take to roll back at shutdown.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(4);

/// How long hooks and MCP servers may take to exit at shutdown.
const EXTENSIONS_TIMEOUT: Duration = Duration::from_secs(2);

/// Characters of a text that an event carries.
const MAX_EVENT_TEXT: usize = 2000;

/// What a gateway is built from.
pub struct GatewayOptions {
    /// The services of the first configuration.
    pub services: Services,
    /// Builds the services of a changed configuration.
    pub reload: Reload,
    /// The instance directory.
    pub home: PathBuf,
    /// The lock of the instance, with the PID file.
    pub lock: Arc<GatewayLock>,
    /// The program's version.
    pub version: &'static str,
    /// Reads the resident memory of the process.
    pub resident_bytes: fn() -> Option<u64>,
    /// The process's limit of open descriptors.
    pub max_descriptors: u64,
}

/// The state that all requests share.
pub struct Gateway {
    services: RwLock<Arc<Services>>,
    pub(super) reload: Reload,
    /// Held during a reload.
    pub(super) reloading: tokio::sync::Mutex<()>,
    home: PathBuf,
    pub(super) version: &'static str,
    pub(super) store: Store,
    /// Notified when an agent has edited a job.
    pub(super) jobs_changed: Arc<Notify>,
    background: OnceLock<Arc<BackgroundTasks>>,
    pub(super) resident_bytes: fn() -> Option<u64>,
    pub(super) access: Access,
    pub(super) approvals: Approvals,
    pub(super) events: EventBus,
    pub(super) counters: Counters,
    /// The turns of chat requests. Closed at shutdown.
    pub(super) turns: TaskTracker,
    /// Cancels every turn of a chat request.
    pub(super) cancel_turns: CancellationToken,
    pub(super) connections: ConnectionSlots,
    pub(super) started: Instant,
    pub(super) started_at: SystemTime,
    /// Why the gateway is not ready.
    not_ready: Mutex<Option<String>>,
    /// Cancelled when shutdown begins.
    pub(super) shutdown: CancellationToken,
}

impl Gateway {
    /// A gateway that is not ready yet.
    pub fn new(options: GatewayOptions) -> Result<Arc<Self>, BackgroundError> {
        let (store, jobs_changed) = (Store::open(&options.home)?, Arc::default());
        let tokens = TokenStore::open(&options.home)?;
        let access = Access::new(options.lock, tokens, &options.services.credentials);
        background::add_cron_tool(&options.services, &store, &jobs_changed);
        // Half of the descriptors stay free for files and commands, whatever clients do.
        let connections = usize::try_from(options.max_descriptors / 2)
            .map_or(MAX_CONNECTIONS, |half| half.clamp(1, MAX_CONNECTIONS));
        Ok(Arc::new(Self {
            services: RwLock::new(Arc::new(options.services)),
            reload: options.reload,
            reloading: tokio::sync::Mutex::default(),
            home: options.home,
            version: options.version,
            store,
            jobs_changed,
            background: OnceLock::new(),
            resident_bytes: options.resident_bytes,
            access,
            approvals: Approvals::default(),
            events: EventBus::default(),
            counters: Counters::default(),
            turns: TaskTracker::new(),
            cancel_turns: CancellationToken::new(),
            connections: ConnectionSlots::new(connections),
            started: Instant::now(),
            started_at: SystemTime::now(),
            not_ready: Mutex::new(Some("starting".to_owned())),
            shutdown: CancellationToken::new(),
        }))
    }

    /// The current services.
    pub fn services(&self) -> Arc<Services> {
        Arc::clone(&self.services.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the services for everything that starts from now on, and returns the old ones.
    pub(super) fn replace_services(self: &Arc<Self>, services: Arc<Services>) -> Arc<Services> {
        if let Some(background) = self.background.get() {
            background.replace_services(self, &services);
        }
        self.access.replace(&services.credentials);
        std::mem::replace(&mut self.services.write().unwrap_or_else(PoisonError::into_inner), services)
    }

    /// Follows the ledger, starts hooks and MCP servers, then cron and heartbeat.
    pub async fn start(self: &Arc<Self>) -> Result<(), BackgroundError> {
        tokio::spawn(ledger_tail::follow(Arc::clone(self)));
        let gateway = Arc::clone(self);
        tokio::spawn(async move { gateway.events.run().await });
        self.start_extensions().await;
        let _ = self.background.set(BackgroundTasks::start(self)?);
        Ok(())
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Starts hooks and MCP servers, and records whether the gateway is ready.
    pub(super) async fn start_extensions(&self) {
        let started = self.services().runner.start_extensions().await;
        if let Err(why) = &started {
            tracing::error!(target: "gateway", error = %why, "Not ready: turns fail until this is fixed");
        }
        *self.not_ready.lock().unwrap_or_else(PoisonError::into_inner) =
            started.err().map(|why| why.to_string());
    }

    /// Why the gateway is not ready, if it is not.
    pub(super) fn not_ready_reason(&self) -> Option<String> {
        if self.shutdown.is_cancelled() {
            return Some("ending".to_owned());
        }
        self.not_ready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.home.join("ledger")
    }

    /// Handles an event of a turn: publishes it, or opens the question that it asks.
    pub fn on_event(&self, subject: &Subject, event: Event) {
        match event {
            Event::Ask(ask) => {
                if let Some((_, question)) = self.approvals.open(subject, ask) {
                    tracing::info!(target: "gateway", agent = %subject.agent, tool = %question["tool"], "A question waits for a person");
                    self.events.publish("approval", &json!({"type": "asked", "question": question}));
                }
            }
            Event::Subagent { info: who, event: what } => {
                let child = subject.child(who.agent.clone(), format!("{}/{}", subject.session, who.id));
                match what {
                    SubagentEvent::Event(event) => self.on_event(&child, *event),
                    SubagentEvent::Began { task } => {
                        self.publish_turn(
                            &child,
                            json!({"type": "start", "task": shortened(&task, MAX_EVENT_TEXT)}),
                        );
                    }
                    SubagentEvent::Ended { result, .. } => {
                        let outcome = if result.is_ok() { "answered" } else { "failed" };
                        self.publish_turn(&child, json!({"type": "end", "outcome": outcome}));
                    }
                    SubagentEvent::Delivered => {}
                }
            }
            event => {
                if let Some(data) = event_json(&event) {
                    self.publish_turn(subject, data);
                }
            }
        }
    }

    /// Publishes an event about a turn.
    pub(super) fn publish_turn(&self, subject: &Subject, mut data: Value) {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("origin".to_owned(), subject.origin.as_str().into());
            fields.insert("agent".to_owned(), subject.agent.as_str().into());
            fields.insert("session".to_owned(), subject.session.clone().into());
        }
        self.events.publish("turn", &data);
    }

    /// Shuts down: no new turns; running ones finish or roll back; hooks and MCP servers exit.
    pub async fn shut_down(&self) {
        self.turns.close();
        self.shutdown.cancel();
        self.approvals.close();
        let background = async {
            if let Some(background) = self.background.get() {
                background.stop(FINISH_TIMEOUT, ROLLBACK_TIMEOUT).await;
            }
        };
        let turns = async {
            if tokio::time::timeout(FINISH_TIMEOUT, self.turns.wait()).await.is_err() {
                tracing::warn!(target: "gateway", turns = self.turns.len(), "Turns are stopped and rolled back");
                self.cancel_turns.cancel();
                let _ = tokio::time::timeout(ROLLBACK_TIMEOUT, self.turns.wait()).await;
            }
        };
        tokio::join!(background, turns);
        let _ = tokio::time::timeout(EXTENSIONS_TIMEOUT, self.services().runner.close()).await;
    }
}

/// The data of an event. Text deltas go to the chat client only.
fn event_json(event: &Event) -> Option<Value> {
    match event {
        Event::ToolCall { id, tool, arguments } => Some(
            json!({"type": "tool_call", "id": id, "tool": tool, "arguments": shortened(&arguments.to_string(), MAX_EVENT_TEXT)}),
        ),
        Event::ToolResult { id, tool, reply, took } => {
            let mut data = json!({
                "type": "tool_result",
                "id": id,
                "tool": tool,
                "ok": matches!(reply, Reply::Done(_)),
                "text": shortened(&reply.text(), MAX_EVENT_TEXT),
                "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            });
            if let (Reply::Refused(no) | Reply::NeedsApproval(no), Some(fields)) =
                (reply, data.as_object_mut())
            {
                let mut refusal = no.to_json();
                refusal["sentence"] = no.sentence.as_str().into();
                fields.insert("refusal".to_owned(), refusal);
            }
            Some(data)
        }
        Event::Retry { why, wait } => Some(
            json!({"type": "retry", "text": shortened(why, MAX_EVENT_TEXT), "wait_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)}),
        ),
        Event::Compacted { dropped } => Some(json!({"type": "compacted", "dropped": dropped})),
        Event::Notice(text) => Some(json!({"type": "notice", "text": shortened(text, MAX_EVENT_TEXT)})),
        Event::Text(_)
        | Event::Said(_)
        | Event::ToolOutput { .. }
        | Event::Ask(_)
        | Event::Subagent { .. } => None,
    }
}
