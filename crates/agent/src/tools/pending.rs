//! The outcome of a tool: a reply, or a question that a person must answer first.

use super::context::ToolContext;
use crate::call::Reply;
use picoclaw_policy::Question;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::permit::{Effect, Permit};
use picoclaw_sandbox::warden::{Admission, Pending};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// The outcome of a tool.
#[derive(Debug)]
#[must_use = "a dropped outcome leaves its question open"]
pub enum Outcome {
    /// The call is finished.
    Reply(Reply),
    /// A person must approve it first.
    NeedsApproval(PendingCall),
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Result<Reply, Reply>> for Outcome {
    /// The error of a tool that returned early is its reply.
    fn from(reply: Result<Reply, Reply>) -> Self {
        Self::Reply(reply.unwrap_or_else(|early| early))
    }
}

type Resume = Box<dyn FnOnce(Option<(Approval, &str)>, &ToolContext<'_>) -> Reply + Send>;

/// A call that waits for approval without a thread. It resumes once, with exactly what was shown; dropped, it is recorded
/// as abandoned.
pub struct PendingCall {
    tool: String,
    question: Question,
    resume: Resume,
}

impl PendingCall {
    /// The tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The question for the person.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The hash of what is shown. An answer to another content is no answer to this one.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.tool.as_str(), &self.question.text, &self.question.refusal.rule] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut text = String::with_capacity(64);
        for byte in hash.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Resumes with a person's answer.
    pub fn answer(self, answer: Approval, by: &str, context: &ToolContext<'_>) -> Reply {
        (self.resume)(Some((answer, by)), context)
    }

    /// Ends the call: no person could be asked.
    pub fn unanswered(self, context: &ToolContext<'_>) -> Reply {
        (self.resume)(None, context)
    }

    /// The same call, with its reply mapped at the end.
    pub(super) fn map_reply(self, map: impl FnOnce(Reply) -> Reply + Send + 'static) -> Self {
        let Self { tool, question, resume } = self;
        Self { tool, question, resume: Box::new(move |answer, context| map(resume(answer, context))) }
    }
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("tool", &self.tool)
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

/// The permit of an admission, for effects that are never asked about; else the reply that says why there is none.
pub(crate) fn permit_or_reply<K: Effect>(
    admission: Admission<K>,
    context: &ToolContext<'_>,
) -> Result<Permit<K>, Reply> {
    match admission {
        Admission::Permit(permit) => Ok(permit),
        Admission::Refusal(refusal) => Err(Reply::Refused(refusal)),
        Admission::Pending(pending) => Err(Reply::NeedsApproval(context.warden.unanswered(*pending))),
    }
}

/// Uses the permit at once, or when a person has approved.
pub(super) fn with_permit<K: Effect + Send + 'static>(
    tool: &str,
    admission: Admission<K>,
    context: &ToolContext<'_>,
    use_permit: impl FnOnce(Permit<K>, &ToolContext<'_>) -> Reply + Send + 'static,
) -> Outcome {
    match admission {
        Admission::Permit(permit) => Outcome::Reply(use_permit(permit, context)),
        Admission::Refusal(refusal) => Outcome::Reply(Reply::Refused(refusal)),
        Admission::Pending(pending) => Outcome::NeedsApproval(ask(tool, *pending, use_permit)),
    }
}

fn ask<K: Effect + Send + 'static>(
    tool: &str,
    pending: Pending<K>,
    use_permit: impl FnOnce(Permit<K>, &ToolContext<'_>) -> Reply + Send + 'static,
) -> PendingCall {
    let question = pending.question().clone();
    let resume: Resume = Box::new(move |answer, context| {
        let Some((answer, by)) = answer else {
            return Reply::NeedsApproval(context.warden.unanswered(pending));
        };
        // An answer is final: a second question about the same thing would never end.
        let admission = context.warden.answer(pending, context.subject, answer, by);
        match permit_or_reply(admission, context) {
            Ok(permit) => use_permit(permit, context),
            Err(reply) => reply,
        }
    });
    PendingCall { tool: tool.to_owned(), question, resume }
}
