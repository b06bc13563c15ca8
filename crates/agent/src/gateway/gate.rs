//! What every request to the gateway shares.
//!
//! Invariant: the staff is replaced whole; a turn that began keeps the one it began with.

use super::approvals::Approvals;
use super::bulletin::Bulletin;
use super::counts::Counts;
use super::duties::{self, Duties, DutyError};
use super::places::Places;
use super::reload::Reload;
use super::staff::Staff;
use super::tail;
use super::underway::Underway;
use crate::call::Reply;
use crate::run::Event;
use crate::run::SubagentEvent;
use crate::schedule::cron::Store;
use picoclaw_policy::Subject;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{Notify, watch};

/// The most connections at once.
const CONNECTIONS: usize = 2048;

/// How long turns may take to end by themselves when the gateway ends.
const FINISH: Duration = Duration::from_secs(6);

/// How long they may take to be taken back after that.
const ROLL_BACK: Duration = Duration::from_secs(4);

/// How long hooks and servers may take to leave.
const LEAVE: Duration = Duration::from_secs(2);

/// How much of a result the stream tells.
const TOLD: usize = 2000;

/// What a gateway is opened with.
pub struct Opening {
    /// Whoever works for it.
    pub staff: Staff,
    /// Makes another staff from what the files say now.
    pub reload: Reload,
    /// The instance.
    pub home: PathBuf,
    /// The program's version.
    pub version: &'static str,
    /// How much memory the process has in use.
    pub resident: fn() -> Option<u64>,
    /// How many descriptors the process may have.
    pub descriptors: u64,
}

/// A gateway.
pub struct Gate {
    staff: RwLock<Arc<Staff>>,
    pub(super) reload: Reload,
    /// One reload at a time.
    pub(super) reloading: tokio::sync::Mutex<()>,
    home: PathBuf,
    pub(super) version: &'static str,
    pub(super) store: Store,
    /// An agent changed a job.
    pub(super) changed: Arc<Notify>,
    duties: OnceLock<Arc<Duties>>,
    pub(super) resident: fn() -> Option<u64>,
    pub(super) approvals: Approvals,
    pub(super) bulletin: Bulletin,
    pub(super) counts: Counts,
    pub(super) underway: Underway,
    pub(super) places: Places,
    pub(super) began: Instant,
    pub(super) began_at: SystemTime,
    /// What is not ready yet.
    lacking: Mutex<Option<String>>,
    is_ending: watch::Sender<bool>,
}

impl Gate {
    /// A gateway that is not ready yet.
    pub fn open(opening: Opening) -> Result<Arc<Self>, DutyError> {
        let (store, changed) = (Store::open(&opening.home)?, Arc::default());
        duties::equip(&opening.staff, &store, &changed);
        Ok(Arc::new(Self {
            staff: RwLock::new(Arc::new(opening.staff)),
            reload: opening.reload,
            reloading: tokio::sync::Mutex::default(),
            home: opening.home,
            version: opening.version,
            store,
            changed,
            duties: OnceLock::new(),
            resident: opening.resident,
            approvals: Approvals::default(),
            bulletin: Bulletin::default(),
            counts: Counts::default(),
            underway: Underway::default(),
            // The other half is for work: strangers may fill every place, and turns still open files and start commands.
            places: Places::new(
                usize::try_from(opening.descriptors / 2)
                    .map_or(CONNECTIONS, |half| half.clamp(1, CONNECTIONS)),
            ),
            began: Instant::now(),
            began_at: SystemTime::now(),
            lacking: Mutex::new(Some("starting".to_owned())),
            is_ending: watch::Sender::new(false),
        }))
    }

    /// Whoever works for it now.
    pub fn staff(&self) -> Arc<Staff> {
        Arc::clone(&self.staff.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another staff in place of the one there is, for everything that begins from now on.
    pub(super) fn replace(self: &Arc<Self>, staff: Arc<Staff>) -> Arc<Staff> {
        if let Some(duties) = self.duties.get() {
            duties.renew(self, &staff);
        }
        std::mem::replace(&mut self.staff.write().unwrap_or_else(PoisonError::into_inner), staff)
    }

    /// Follows the ledger, and brings hooks and servers; then it is ready, and does what it does unasked.
    pub async fn prepare(self: &Arc<Self>) -> Result<(), DutyError> {
        tokio::spawn(tail::follow(Arc::clone(self)));
        let told = Arc::clone(self);
        tokio::spawn(async move { told.bulletin.publish().await });
        self.gather().await;
        let duties = Duties::begin(self)?;
        let _first = self.duties.set(duties);
        Ok(())
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Brings hooks and servers, and says so when they are there or are not.
    pub(super) async fn gather(&self) {
        let gathered = self.staff().runner.start_extensions().await;
        if let Err(why) = &gathered {
            tracing::error!(target: "gateway", error = %why, "Not ready: turns fail until this is mended");
        }
        *self.lacking.lock().unwrap_or_else(PoisonError::into_inner) =
            gathered.err().map(|why| why.to_string());
    }

    /// What it lacks to be ready.
    pub(super) fn lacks(&self) -> Option<String> {
        if *self.is_ending.borrow() {
            return Some("ending".to_owned());
        }
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.home.join("ledger")
    }

    /// Waits until it ends.
    pub(super) async fn ended(&self) {
        let mut ending = self.is_ending.subscribe();
        let _gone = ending.wait_for(|is_ending| *is_ending).await;
    }

    /// Hears what happens in a turn: tells whoever watches, and puts questions where people can answer them.
    pub fn hear(&self, subject: &Subject, event: Event) {
        match event {
            Event::Ask(ask) => {
                if let Some((_, shown)) = self.approvals.put(subject, ask) {
                    tracing::info!(target: "gateway", agent = %subject.agent, tool = %shown["tool"], "A question waits for a person");
                    self.bulletin.tell("approval", &json!({"type": "asked", "question": shown}));
                }
            }
            Event::Subagent { info: who, event: what } => {
                let below = subject.child(who.agent.clone(), format!("{}/{}", subject.session, who.id));
                match what {
                    SubagentEvent::Event(event) => self.hear(&below, *event),
                    SubagentEvent::Began { task } => {
                        self.tell_turn(&below, json!({"type": "start", "task": cut(&task)}));
                    }
                    SubagentEvent::Ended { result, .. } => {
                        let outcome = if result.is_ok() { "answered" } else { "failed" };
                        self.tell_turn(&below, json!({"type": "end", "outcome": outcome}));
                    }
                    SubagentEvent::Delivered => {}
                }
            }
            event => {
                if let Some(told) = told(&event) {
                    self.tell_turn(subject, told);
                }
            }
        }
    }

    /// Tells whoever watches something about a turn.
    pub(super) fn tell_turn(&self, subject: &Subject, mut what: Value) {
        if let Some(fields) = what.as_object_mut() {
            fields.insert("origin".to_owned(), subject.origin.as_str().into());
            fields.insert("agent".to_owned(), subject.agent.as_str().into());
            fields.insert("session".to_owned(), subject.session.clone().into());
        }
        self.bulletin.tell("turn", &what);
    }

    /// Ends: no new turns; those that run end, or are taken back; hooks and servers leave.
    pub async fn end(&self) {
        self.underway.close();
        self.is_ending.send_replace(true);
        self.approvals.close();
        let duties = async {
            if let Some(duties) = self.duties.get() {
                duties.end(FINISH, ROLL_BACK).await;
            }
        };
        let turns = async {
            if tokio::time::timeout(FINISH, self.underway.over()).await.is_err() {
                tracing::warn!(target: "gateway", turns = self.underway.count(), "Turns are stopped and taken back");
                self.underway.halt();
                let _late = tokio::time::timeout(ROLL_BACK, self.underway.over()).await;
            }
        };
        tokio::join!(duties, turns);
        let _late = tokio::time::timeout(LEAVE, self.staff().runner.close()).await;
    }
}

/// An event as the stream tells it; pieces of text are the chat's alone.
fn told(event: &Event) -> Option<Value> {
    match event {
        Event::ToolCall { id, tool, arguments } => Some(
            json!({"type": "tool_call", "id": id, "tool": tool, "arguments": cut(&arguments.to_string())}),
        ),
        Event::ToolResult { id, tool, reply, took } => {
            let mut told = json!({
                "type": "tool_result",
                "id": id,
                "tool": tool,
                "ok": matches!(reply, Reply::Done(_)),
                "text": cut(&reply.text()),
                "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            });
            if let (Reply::Refused(no) | Reply::NeedsApproval(no), Some(fields)) =
                (reply, told.as_object_mut())
            {
                let refusal = json!({"code": no.code.as_str(), "rule": no.rule, "layer": no.layer.as_str(), "sentence": no.sentence, "hint": no.hint});
                fields.insert("refusal".to_owned(), refusal);
            }
            Some(told)
        }
        Event::Retry { why, wait } => Some(
            json!({"type": "retry", "text": cut(why), "wait_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)}),
        ),
        Event::Compacted { dropped } => Some(json!({"type": "compacted", "dropped": dropped})),
        Event::Notice(text) => Some(json!({"type": "notice", "text": cut(text)})),
        Event::Text(_)
        | Event::Said(_)
        | Event::ToolOutput { .. }
        | Event::Ask(_)
        | Event::Subagent { .. } => None,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
