//! Runs tool calls on blocking threads: the one bridge from async code to the synchronous sandbox.

use crate::call::{Call, Reply};
use crate::question;
use crate::tools::{Outcome, PendingCall, Registry, ToolContext, unwatched};
use picoclaw_policy::{Code, Layer, Refusal, Subject};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Answer, Approval};
use picoclaw_sandbox::warden::Warden;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Receives the output of a long call, line by line.
pub type Watcher = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Runs tool calls. Clones share everything.
#[derive(Clone)]
pub struct ToolExecutor {
    warden: Arc<Warden>,
    /// Replaced as a whole when MCP servers bring more tools.
    registry: Arc<RwLock<Arc<Registry>>>,
    /// The digests of the acts that were approved for the rest of their session, which is part of
    /// them.
    approved: Arc<Mutex<BTreeSet<String>>>,
}

impl ToolExecutor {
    /// An executor of these tools, with effects through this warden.
    pub fn new(warden: Arc<Warden>, registry: Arc<Registry>) -> Self {
        Self { warden, registry: Arc::new(RwLock::new(registry)), approved: Arc::default() }
    }

    /// The warden.
    pub fn warden(&self) -> &Arc<Warden> {
        &self.warden
    }

    /// The tools.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the tools. Running calls keep the ones they have.
    pub fn replace_registry(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Runs a call. A question that was approved for this session before is not asked again.
    pub async fn call(&self, call: Call, halt: &CancelToken, watcher: Watcher) -> Outcome {
        let executor = self.clone();
        self.run_blocking(halt, move |halt| {
            let context = executor.context(&call.subject, halt, &*watcher);
            match executor.registry().run(&call, &context) {
                Outcome::NeedsApproval(pending) if executor.is_approved(&pending) => {
                    let answer = Answer::new(Approval::Session, "an earlier answer in this session");
                    pending.answer(&answer, &context).into()
                }
                outcome => outcome,
            }
        })
        .await
        .unwrap_or_else(Outcome::Reply)
    }

    /// Refuses a call whose arguments are not JSON.
    pub async fn refuse_unreadable(&self, call: Call, why: String, halt: &CancelToken) -> Reply {
        let executor = self.clone();
        self.run_blocking(halt, move |halt| {
            let context = executor.context(&call.subject, halt, &unwatched);
            executor.registry().refuse_unreadable(&call, &why, &context)
        })
        .await
        .unwrap_or_else(|crashed| crashed)
    }

    /// Refuses a call that a hook denied.
    pub async fn deny_by_hook(&self, call: Call, sentence: String) -> Reply {
        let executor = self.clone();
        self.run_blocking(&CancelToken::new(), move |_| {
            let refusal = Refusal {
                code: Code::DeniedByHook,
                sentence,
                rule: "hooks".to_owned(),
                layer: Layer::Hook,
                hint: "the hooks are listed under `hooks.processes`".to_owned(),
            };
            Reply::Refused(executor.warden.refuse_call(&call.tool, &call.subject, refusal))
        })
        .await
        .unwrap_or_else(|crashed| crashed)
    }

    /// Takes a hook's reply in place of running the call, and records that.
    pub async fn answered_by_hook(&self, call: Call, reply: Reply) -> Reply {
        let executor = self.clone();
        self.run_blocking(&CancelToken::new(), move |_| {
            executor.warden.record_read_only(&call.tool, &call.subject, "(answered by a hook)");
            reply.map_text(|text| executor.registry().clean(text))
        })
        .await
        .unwrap_or_else(|crashed| crashed)
    }

    /// Resumes a call that needs approval; `None` when it could not be asked for.
    pub async fn answer(
        &self,
        pending: PendingCall,
        subject: Subject,
        answer: Option<Answer>,
        halt: &CancelToken,
        watcher: Watcher,
    ) -> Reply {
        let executor = self.clone();
        self.run_blocking(halt, move |halt| {
            let context = executor.context(&subject, halt, &*watcher);
            match answer {
                Some(answer) => {
                    executor.remember(&pending, &answer);
                    pending.answer(&answer, &context)
                }
                None => pending.unanswered(&context),
            }
        })
        .await
        .unwrap_or_else(|crashed| crashed)
    }

    fn context<'c>(
        &'c self,
        subject: &'c Subject,
        halt: &'c CancelToken,
        watcher: &'c (dyn Fn(&[u8]) + Sync),
    ) -> ToolContext<'c> {
        ToolContext::new(&self.warden, subject, halt, watcher)
    }

    /// Keeps a yes that holds for the same act again.
    fn remember(&self, pending: &PendingCall, answer: &Answer) {
        match answer.approval {
            Approval::Once | Approval::No => {}
            Approval::Session => {
                self.approved.lock().unwrap_or_else(PoisonError::into_inner).insert(pending.fingerprint());
            }
            Approval::Always => {
                let text = self.registry().clean(question::text(pending.act(), pending.question()));
                if let Err(why) = self.warden.always().add(pending.act(), &text, &answer.by) {
                    tracing::warn!(target: "approvals", error = %why, "The answer `always` counts once: it could not be kept");
                }
            }
        }
    }

    fn is_approved(&self, pending: &PendingCall) -> bool {
        let approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        !approved.is_empty() && approved.contains(&pending.fingerprint())
    }

    /// Runs `work` on a blocking thread. Dropping the future cancels it.
    async fn run_blocking<T: Send + 'static>(
        &self,
        halt: &CancelToken,
        work: impl FnOnce(&CancelToken) -> T + Send + 'static,
    ) -> Result<T, Reply> {
        let mut guard = CancelOnDrop { halt: halt.clone(), is_finished: false };
        let theirs = halt.clone();
        let done = tokio::task::spawn_blocking(move || work(&theirs)).await;
        guard.is_finished = true;
        done.map_err(|_| Reply::Failed("the tool crashed".to_owned()))
    }
}

/// Cancels a call whose caller stopped waiting for it.
struct CancelOnDrop {
    halt: CancelToken,
    is_finished: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.is_finished {
            self.halt.cancel();
        }
    }
}
