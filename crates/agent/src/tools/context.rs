//! What a tool is given beside its arguments.

use crate::call::Reply;
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Effect, Permit};
use picoclaw_sandbox::warden::{Admission, Approved, Pending, Request, Warden};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// The context of one call.
#[derive(Clone, Copy)]
pub struct ToolContext<'c> {
    /// Admits effects.
    pub warden: &'c Warden,
    /// On whose behalf.
    pub subject: &'c Subject,
    /// Raised when the call is cancelled.
    pub halt: &'c CancelToken,
    /// Receives the output of a long call as it comes; outside the registry in whole lines, secrets
    /// filtered.
    pub watcher: &'c (dyn Fn(&[u8]) + Sync),
    /// The arguments of the call, which a person's answer is bound to.
    pub(super) arguments: &'c Value,
    /// What a person approved, when the call is made again after the answer.
    pub(super) approved: Option<&'c Approved>,
    /// Takes the question of the call; without it no person can be asked.
    pub(super) question: Option<&'c Mutex<Option<Pending>>>,
}

impl<'c> ToolContext<'c> {
    /// A context of calls on behalf of `subject`.
    pub fn new(
        warden: &'c Warden,
        subject: &'c Subject,
        halt: &'c CancelToken,
        watcher: &'c (dyn Fn(&[u8]) + Sync),
    ) -> Self {
        Self { warden, subject, halt, watcher, arguments: &Value::Null, approved: None, question: None }
    }

    /// Asks the warden; the reply says why there is no permit. A question goes to the registry,
    /// which makes the call again with the answer.
    pub(crate) fn admit<K: Effect + Send + 'static>(
        &self,
        tool: &str,
        effect: K,
    ) -> Result<Permit<K>, Reply> {
        let Self { arguments, subject, approved, .. } = *self;
        match self.warden.admit(&Request { tool, arguments, subject, approved }, effect) {
            Admission::Permit(permit) => Ok(permit),
            Admission::Refusal(refusal) => Err(Reply::Refused(refusal)),
            Admission::Pending(pending) => Err(Reply::NeedsApproval(match self.question {
                None => self.warden.unanswered(*pending),
                Some(question) => {
                    let refusal = pending.question().refusal.clone();
                    *question.lock().unwrap_or_else(PoisonError::into_inner) = Some(*pending);
                    refusal
                }
            })),
        }
    }
}

/// A watcher that ignores the output.
pub fn unwatched(_output: &[u8]) {}
