//! The hall: the one bridge from waiting code to the rooms, which do not wait for each other.
//!
//! Invariant: a call that nobody waits for any more is halted; an answer for a session holds for the same content alone.

use crate::call::{Call, Reply};
use crate::hooks::HookReply;
use crate::tools::{Asked, Outcome, Registry, Visit, unwatched};
use picoclaw_policy::{Code, Layer, Refusal, Subject};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::warden::Warden;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Hears the output of a long call, in lines.
pub type Watcher = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Everything that a call walks through.
#[derive(Clone)]
pub struct Hall {
    warden: Arc<Warden>,
    /// Replaced whole when servers bring more tools.
    registry: Arc<RwLock<Arc<Registry>>>,
    /// What a person allowed for the rest of a session.
    allowed: Arc<Mutex<BTreeSet<Allowed>>>,
}

/// One yes for a session: whose, and to what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Allowed {
    agent: String,
    session: String,
    /// What a person allowed one is not allowed its subagents.
    depth: u32,
    fingerprint: String,
}

impl Hall {
    /// A hall between these tools and this warden.
    pub fn new(warden: Arc<Warden>, registry: Arc<Registry>) -> Self {
        Self { warden, registry: Arc::new(RwLock::new(registry)), allowed: Arc::default() }
    }

    /// Who hands out keys.
    pub fn warden(&self) -> &Arc<Warden> {
        &self.warden
    }

    /// The tools.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other tools in their place; calls that run keep the ones they have.
    pub fn refit(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Runs a call; a question that was answered for this session before is not asked again.
    pub async fn call(&self, call: Call, halt: &CancelToken, watcher: Watcher) -> Outcome {
        let hall = self.clone();
        self.cross(halt, move |halt| {
            let visit = Visit { warden: &hall.warden, subject: &call.subject, halt, watcher: &*watcher };
            match hall.registry().run(&call, &visit) {
                Outcome::Asks(asked) if hall.is_allowed(&asked, &call.subject) => {
                    asked.answer(Approval::Session, "an earlier answer in this session", &visit).into()
                }
                outcome => outcome,
            }
        })
        .await
        .unwrap_or_else(Outcome::Reply)
    }

    /// Refuses a call whose arguments are not even JSON.
    pub async fn refuse_unreadable(&self, call: Call, why: String, halt: &CancelToken) -> Reply {
        let hall = self.clone();
        self.cross(halt, move |halt| {
            let visit = Visit { warden: &hall.warden, subject: &call.subject, halt, watcher: &unwatched };
            hall.registry().refuse_unreadable(&call, &why, &visit)
        })
        .await
        .unwrap_or_else(|why| why)
    }

    /// Refuses a call that a hook objected to.
    pub async fn deny_by_hook(&self, call: Call, sentence: String) -> Reply {
        let hall = self.clone();
        self.cross(&CancelToken::new(), move |_| {
            let refusal = Refusal {
                code: Code::DeniedByHook,
                sentence,
                rule: "hooks".to_owned(),
                layer: Layer::Hook,
                hint: "the hooks are listed under `hooks.processes`".to_owned(),
            };
            Reply::Refused(hall.warden.refuse_call(&call.tool, &call.subject, refusal))
        })
        .await
        .unwrap_or_else(|why| why)
    }

    /// Takes a hook's word in place of a call; it is recorded, and nothing runs.
    pub async fn answered_by_hook(&self, call: Call, said: HookReply) -> Reply {
        let hall = self.clone();
        self.cross(&CancelToken::new(), move |_| {
            hall.warden.record_read_only(&call.tool, &call.subject, "(answered by a hook)");
            let text = hall.registry().clean(said.text);
            if said.is_error { Reply::Failed(text) } else { Reply::Done(text) }
        })
        .await
        .unwrap_or_else(|why| why)
    }

    /// Goes on with a call that asked; `None` when nobody could be.
    pub async fn answer(
        &self,
        asked: Asked,
        subject: Subject,
        said: Option<(Approval, String)>,
        halt: &CancelToken,
        watcher: Watcher,
    ) -> Reply {
        if let Some((Approval::Session, _)) = &said {
            let allowed = Allowed::of(&asked, &subject);
            self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(allowed);
        }
        let hall = self.clone();
        self.cross(halt, move |halt| {
            let visit = Visit { warden: &hall.warden, subject: &subject, halt, watcher: &*watcher };
            match said {
                Some((answer, by)) => asked.answer(answer, &by, &visit),
                None => asked.unanswered(&visit),
            }
        })
        .await
        .unwrap_or_else(|why| why)
    }

    fn is_allowed(&self, asked: &Asked, subject: &Subject) -> bool {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(&Allowed::of(asked, subject))
    }

    /// The bridge: `work` on a thread that may block, halted when nobody waits for it any more.
    async fn cross<T: Send + 'static>(
        &self,
        halt: &CancelToken,
        work: impl FnOnce(&CancelToken) -> T + Send + 'static,
    ) -> Result<T, Reply> {
        let mut waiting = Waiting { halt: halt.clone(), is_over: false };
        let theirs = halt.clone();
        let done = tokio::task::spawn_blocking(move || work(&theirs)).await;
        waiting.is_over = true;
        done.map_err(|_| Reply::Failed("the tool crashed".to_owned()))
    }
}

impl Allowed {
    fn of(asked: &Asked, subject: &Subject) -> Self {
        Self {
            agent: subject.agent.to_string(),
            session: subject.session.clone(),
            depth: subject.depth,
            fingerprint: asked.fingerprint(),
        }
    }
}

/// Raises the halt when the wait is given up.
struct Waiting {
    halt: CancelToken,
    is_over: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            self.halt.cancel();
        }
    }
}
