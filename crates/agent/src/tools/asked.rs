//! A call that waits for a person: what is asked, and how it goes on.
//!
//! Invariant: it goes on with exactly what was shown, once; left alone, it is recorded as abandoned.

use super::visit::Visit;
use crate::call::Reply;
use picoclaw_policy::Question;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::permit::{Effect, Permit};
use picoclaw_sandbox::warden::{Admission, Pending};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// What a tool comes to: a reply, or a question first.
#[derive(Debug)]
#[must_use = "an outcome nobody reads leaves a question open"]
pub enum Outcome {
    /// It is over.
    Reply(Reply),
    /// A person must say yes first.
    Asks(Asked),
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Result<Reply, Reply>> for Outcome {
    /// A tool that turned back early says why in its reply.
    fn from(reply: Result<Reply, Reply>) -> Self {
        Self::Reply(reply.unwrap_or_else(|early| early))
    }
}

type Then = Box<dyn FnOnce(Option<(Approval, &str)>, &Visit<'_>) -> Reply + Send>;

/// A call that holds no thread while a person thinks.
pub struct Asked {
    tool: String,
    question: Question,
    then: Then,
}

impl Asked {
    /// The tool that asks.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What to put to the person.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The hash of what is shown: an answer to another content is no answer to this.
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

    /// Goes on with a person's answer.
    pub fn answer(self, answer: Approval, by: &str, visit: &Visit<'_>) -> Reply {
        (self.then)(Some((answer, by)), visit)
    }

    /// Nobody could be asked.
    pub fn unanswered(self, visit: &Visit<'_>) -> Reply {
        (self.then)(None, visit)
    }

    /// The same call, with its reply gone over at the end.
    pub(super) fn map_reply(self, over: impl FnOnce(Reply) -> Reply + Send + 'static) -> Self {
        let Self { tool, question, then } = self;
        Self { tool, question, then: Box::new(move |said, visit| over(then(said, visit))) }
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("tool", &self.tool)
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

/// Goes on with the permit at once, or when a person has said yes.
pub(super) fn with_permit<K: Effect + Send + 'static>(
    tool: &str,
    admission: Admission<K>,
    visit: &Visit<'_>,
    go: impl FnOnce(Permit<K>, &Visit<'_>) -> Reply + Send + 'static,
) -> Outcome {
    match admission {
        Admission::Permit(permit) => Outcome::Reply(go(permit, visit)),
        Admission::Refusal(refusal) => Outcome::Reply(Reply::Refused(refusal)),
        Admission::Pending(pending) => Outcome::Asks(ask(tool, *pending, go)),
    }
}

fn ask<K: Effect + Send + 'static>(
    tool: &str,
    pending: Pending<K>,
    go: impl FnOnce(Permit<K>, &Visit<'_>) -> Reply + Send + 'static,
) -> Asked {
    let question = pending.question().clone();
    let then: Then = Box::new(move |said, visit| {
        let Some((answer, by)) = said else {
            return Reply::Unasked(visit.warden.unanswered(pending));
        };
        match visit.warden.answer(pending, visit.subject, answer, by) {
            Admission::Permit(permit) => go(permit, visit),
            Admission::Refusal(refusal) => Reply::Refused(refusal),
            // An answer is the last word; a second question about the same thing would never end.
            Admission::Pending(pending) => Reply::Unasked(visit.warden.unanswered(*pending)),
        }
    });
    Asked { tool: tool.to_owned(), question, then }
}
