//! The outcome of a tool: a reply, or a question that a person must answer first.

use super::context::ToolContext;
use super::registry::finish;
use crate::call::Reply;
use picoclaw_policy::Question;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::act::Act;
use picoclaw_sandbox::permit::Answer;
use picoclaw_sandbox::warden::{Approved, Pending};
use std::fmt;

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

type Resume = Box<dyn FnOnce(&Approved, &ToolContext<'_>) -> Reply + Send>;

/// A call that waits for approval without a thread. With a yes it is made again, judged again, and
/// runs only as the act that was shown; dropped, it is recorded as abandoned.
pub struct PendingCall {
    pending: Box<Pending>,
    resume: Resume,
    redactor: Redactor,
}

impl PendingCall {
    pub(super) fn new(
        pending: Pending,
        redactor: Redactor,
        resume: impl FnOnce(&Approved, &ToolContext<'_>) -> Reply + Send + 'static,
    ) -> Self {
        Self { pending: Box::new(pending), resume: Box::new(resume), redactor }
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.act().tool
    }

    /// The whole act.
    pub fn act(&self) -> &Act {
        self.pending.act()
    }

    /// The question for the person.
    pub fn question(&self) -> &Question {
        self.pending.question()
    }

    /// The digest of the act. An answer to another act is no answer to this one.
    pub fn fingerprint(&self) -> String {
        self.act().digest()
    }

    /// Resumes with a person's answer.
    pub fn answer(self, answer: &Answer, context: &ToolContext<'_>) -> Reply {
        let Self { pending, resume, redactor } = self;
        let tool = pending.act().tool.clone();
        let reply = match context.warden.answer(*pending, context.subject, answer) {
            Ok(approved) => resume(&approved, context),
            Err(refusal) => Reply::Refused(refusal),
        };
        finish(reply, &tool, &redactor)
    }

    /// Ends the call: no person could be asked.
    pub fn unanswered(self, context: &ToolContext<'_>) -> Reply {
        let tool = self.tool().to_owned();
        finish(Reply::NeedsApproval(context.warden.unanswered(*self.pending)), &tool, &self.redactor)
    }
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall").field("pending", &self.pending).finish_non_exhaustive()
    }
}
