//! A model and everything that may stand in for it.
//!
//! One try goes to the first candidate that is not resting; a failure that another could do better goes on to the
//! next. When all have failed in ways that pass, they are asked again after a wait. What a request itself causes
//! (`format`, `context_overflow`) stops at once: nobody else would take it either.
//!
//! Invariant: once a person has seen a piece of an answer, no second answer begins.

use super::candidate::Candidate;
use super::provider::{Again, Answer, Class, Provider, ProviderError, ProviderKind, Request, Sink};
use super::watched::{Seen, Watched};
use picoclaw_sandbox::{Redactor, printable_lines};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest wait for a model that says when to come back; beyond it, waiting is a person's decision.
const PATIENCE: Duration = Duration::from_secs(60);

/// Candidates of one name: asked in rotation, each standing in for the others.
pub(super) struct Group {
    /// The entries of that name, each with its keys in order.
    pub(super) entries: Vec<Vec<Arc<Candidate>>>,
    /// Whose turn it is.
    pub(super) turn: Arc<AtomicUsize>,
}

/// How often and how soon a failed request is made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Further tries.
    pub(super) retries: u64,
    /// The wait before the first; the n-th waits n times as long.
    pub(super) backoff: Duration,
}

/// A model and its stand-ins.
pub struct FallbackChain {
    pub(super) groups: Vec<Group>,
    pub(super) patience: Patience,
    pub(super) redactor: Redactor,
}

/// A failure that is not the last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The model that failed.
    pub model: String,
    /// What went wrong, without secrets.
    pub why: String,
    /// How long until somebody is asked again.
    pub wait: Duration,
}

impl FallbackChain {
    /// The name of the model that is meant.
    pub fn model(&self) -> &str {
        self.first().map(|provider| provider.model()).unwrap_or_default()
    }

    /// What answers.
    pub fn kind(&self) -> ProviderKind {
        self.first().map_or(ProviderKind::Model, |provider| provider.kind())
    }

    fn first(&self) -> Option<&dyn Provider> {
        let first = self.groups.first()?.entries.first()?.first()?;
        Some(&*first.provider)
    }

    /// Asks until somebody answers: the answer, and the model that gave it.
    pub async fn ask(
        &self,
        request: &Request,
        sink: &mut dyn Sink,
        on_retry: &(dyn Fn(&Retry) + Send + Sync),
    ) -> Result<(Answer, String), ProviderError> {
        let everyone = self.order();
        let mut ask = Ask {
            several: everyone.len() > 1,
            request,
            on_retry,
            redactor: &self.redactor,
            failures: Vec::new(),
        };
        let mut asked = ready(&everyone, &mut ask);
        for round in 0..=self.patience.retries {
            if let Some(answer) = ask.round(&asked, sink).await? {
                return Ok(answer);
            }
            asked.retain(|candidate| ask.may_pass(candidate));
            if asked.is_empty() || round == self.patience.retries {
                break;
            }
            let wait = self.patience.backoff.saturating_mul(u32::try_from(round + 1).unwrap_or(u32::MAX));
            ask.wait(wait).await;
        }
        Err(ask.give_up())
    }

    /// Everybody in the order of asking.
    fn order(&self) -> Vec<Arc<Candidate>> {
        let mut order = Vec::new();
        for group in &self.groups {
            let count = group.entries.len();
            let first = if count > 1 { group.turn.fetch_add(1, Ordering::Relaxed) % count } else { 0 };
            let rotated = group.entries[first..].iter().chain(&group.entries[..first]);
            order.extend(rotated.flatten().cloned());
        }
        order
    }
}

/// Those who are not resting; when all are, the one that is due first, since no answer at all helps nobody.
fn ready(everyone: &[Arc<Candidate>], ask: &mut Ask<'_>) -> Vec<Arc<Candidate>> {
    if !ask.several {
        return everyone.to_vec();
    }
    let awake: Vec<_> = everyone.iter().filter(|candidate| candidate.rest().is_none()).cloned().collect();
    let chosen = if awake.is_empty() {
        everyone.iter().min_by_key(|candidate| candidate.rest()).cloned().into_iter().collect()
    } else {
        awake
    };
    for candidate in everyone.iter().filter(|one| !chosen.iter().any(|other| Arc::ptr_eq(one, other))) {
        let rest = candidate.rest().unwrap_or_default().as_secs() + 1;
        let text = format!("skipped: it failed before and rests for another {rest} s");
        ask.note(candidate, ProviderError::new(Class::RateLimit, text));
    }
    chosen
}

/// One question on its way through a chain.
struct Ask<'a> {
    several: bool,
    request: &'a Request,
    on_retry: &'a (dyn Fn(&Retry) + Send + Sync),
    redactor: &'a Redactor,
    /// The latest failure of each.
    failures: Vec<(Arc<Candidate>, ProviderError)>,
}

impl Ask<'_> {
    /// Asks each once; an error is the last word.
    async fn round(
        &mut self,
        asked: &[Arc<Candidate>],
        sink: &mut dyn Sink,
    ) -> Result<Option<(Answer, String)>, ProviderError> {
        for (place, candidate) in asked.iter().enumerate() {
            if !self.keeps_its_limit(candidate).await {
                continue;
            }
            let mut watched = Watched::new(sink);
            let why = match candidate.provider.ask(self.request, &mut watched).await {
                Ok(answer) => {
                    candidate.answered();
                    return Ok(Some((answer, candidate.provider.model().to_owned())));
                }
                Err(why) => why,
            };
            if watched.seen() == Seen::Something || stops(why.class) {
                return Err(self.last_word(&why));
            }
            if !self.failures.iter().any(|(other, _)| Arc::ptr_eq(other, candidate)) {
                candidate.failed(&why);
            }
            if place + 1 < asked.len() {
                self.tell(candidate, &why, Duration::ZERO);
            }
            self.note(candidate, why);
        }
        Ok(None)
    }

    /// Waits for the entry's own limit when nobody else could be asked; `false` passes it over.
    async fn keeps_its_limit(&mut self, candidate: &Arc<Candidate>) -> bool {
        while let Err(wait) = candidate.rate.take(Instant::now()) {
            let mut limit =
                ProviderError::new(Class::RateLimit, "its own limit of requests a minute (`rpm`) is reached");
            if self.several {
                limit.retry_after = Some(wait);
                self.note(candidate, limit);
                return false;
            }
            self.tell(candidate, &limit, wait);
            sleep(wait).await;
        }
        true
    }

    /// Whether the latest failure of a candidate may pass by itself, soon.
    fn may_pass(&self, candidate: &Arc<Candidate>) -> bool {
        let latest = self.failures.iter().find(|(other, _)| Arc::ptr_eq(other, candidate));
        latest.is_some_and(|(_, why)| {
            let passes = matches!(why.class, Class::RateLimit | Class::Timeout | Class::Network);
            let is_soon = why.retry_after.is_none_or(|after| after <= PATIENCE);
            passes && is_soon && candidate.provider.again() == Again::Freely
        })
    }

    /// Waits before the next round, as long as those who failed ask for.
    async fn wait(&self, backoff: Duration) {
        let Some((candidate, why)) = self.failures.last() else { return };
        let soonest = self.failures.iter().filter_map(|(_, why)| why.retry_after).min().unwrap_or_default();
        let wait = backoff.max(soonest.min(PATIENCE));
        self.tell(candidate, why, wait);
        sleep(wait).await;
    }

    fn tell(&self, candidate: &Candidate, why: &ProviderError, wait: Duration) {
        let retry = Retry { model: candidate.label(), why: self.clean(&why.message), wait };
        tracing::warn!(target: "provider", model = %retry.model, wait = ?wait, "{}", one_line(&retry.why));
        (self.on_retry)(&retry);
    }

    fn note(&mut self, candidate: &Arc<Candidate>, why: ProviderError) {
        self.failures.retain(|(other, _)| !Arc::ptr_eq(other, candidate));
        self.failures.push((Arc::clone(candidate), why));
    }

    fn give_up(&self) -> ProviderError {
        let Some((_, last)) = self.failures.last() else {
            return ProviderError::new(Class::Unknown, "there is no model to ask");
        };
        if !self.several {
            return self.last_word(last);
        }
        let mut text = format!("fallback: all {} candidates failed:", self.failures.len());
        for (candidate, why) in &self.failures {
            text.push_str(&format!("\n  {}: {}", candidate.label(), one_line(&why.message)));
        }
        self.last_word(&ProviderError { message: text, ..last.clone() })
    }

    fn last_word(&self, why: &ProviderError) -> ProviderError {
        let message = format!("LLM call failed after retries: {}", self.clean(&why.message));
        ProviderError { message, ..why.clone() }
    }

    fn clean(&self, text: &str) -> String {
        printable_lines(&self.redactor.clean(text)).into_owned()
    }
}

/// Failures that nobody else would be spared, or that nobody understands.
fn stops(class: Class) -> bool {
    matches!(class, Class::Format | Class::ContextOverflow | Class::Unknown)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
