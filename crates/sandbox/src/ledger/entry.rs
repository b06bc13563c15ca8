//! What is recorded about one call: who asked for what, the decision, and the outcome.

use picoclaw_policy::{Code, Layer, Origin, Subject, Verdict};
use std::time::Duration;

/// Which step of a call a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The verdict, before any effect.
    Decided,
    /// The effect has ended, with success or an error.
    Finished,
    /// The effect was permitted and never carried out.
    Abandoned,
}

impl Phase {
    /// The spelling in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A record without its place in the chain.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(super) phase: Phase,
    pub(super) origin: Origin,
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) depth: u32,
    pub(super) lineage: Vec<String>,
    pub(super) principal: Option<String>,
    pub(super) tool: String,
    pub(super) intent: String,
    pub(super) verdict: &'static str,
    pub(super) code: Option<Code>,
    pub(super) rule: Option<String>,
    pub(super) layer: Option<Layer>,
    pub(super) enforced: Vec<String>,
    pub(super) outcome: Option<String>,
    pub(super) duration: Option<Duration>,
}

impl Entry {
    /// A verdict, to be written before it has any effect. `intent` describes the effect: `read
    /// /a/b`.
    pub fn decided(subject: &Subject, tool: &str, intent: &str, verdict: &Verdict) -> Self {
        Self {
            phase: Phase::Decided,
            origin: subject.origin,
            agent: subject.agent.to_string(),
            session: subject.session.clone(),
            depth: subject.depth,
            lineage: subject.lineage.iter().map(ToString::to_string).collect(),
            principal: subject.principal.clone(),
            tool: tool.to_owned(),
            intent: intent.to_owned(),
            verdict: "",
            code: None,
            rule: None,
            layer: None,
            enforced: Vec::new(),
            outcome: None,
            duration: None,
        }
        .with_verdict(verdict)
    }

    /// A verdict on something else that the same call causes.
    #[must_use]
    pub fn beside(&self, tool: &str, intent: &str, verdict: &Verdict) -> Self {
        let (tool, intent) = (tool.to_owned(), intent.to_owned());
        let enforced = Vec::new();
        Self { phase: Phase::Decided, tool, intent, enforced, ..self.clone() }.with_verdict(verdict)
    }

    fn with_verdict(self, verdict: &Verdict) -> Self {
        let (word, rule, refusal) = match verdict {
            Verdict::Allow(grant) => ("allow", &grant.rule, None),
            Verdict::Ask(question) => ("ask", &question.refusal.rule, Some(&question.refusal)),
            Verdict::Deny(refusal) => ("deny", &refusal.rule, Some(refusal)),
        };
        Self {
            verdict: word,
            code: refusal.map(|no| no.code),
            rule: Some(rule.clone()),
            layer: refusal.map(|no| no.layer),
            ..self
        }
    }

    /// The layers that the kernel enforces.
    #[must_use]
    pub fn enforcing(mut self, layers: impl IntoIterator<Item = String>) -> Self {
        self.enforced = layers.into_iter().collect();
        self
    }

    /// The same call when it has ended. `outcome` is `ok`, or the error.
    #[must_use]
    pub fn finished(mut self, outcome: &str, took: Duration) -> Self {
        self.phase = Phase::Finished;
        self.outcome = Some(outcome.to_owned());
        self.duration = Some(took);
        self
    }

    /// The same call when its permit was dropped.
    #[must_use]
    pub fn abandoned(mut self) -> Self {
        self.phase = Phase::Abandoned;
        self
    }
}
