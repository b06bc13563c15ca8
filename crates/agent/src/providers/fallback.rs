//! A model and its stand-ins: retries, cooldowns and fallbacks.
//!
//! A request goes to the first candidate that is not cooling down; a failure that another candidate
//! may not have goes on to the next. When all have failed for a reason that may pass, they are
//! asked again after a wait. What the request itself causes (`format`, `context_overflow`) is
//! returned at once.
//!
//! Invariant: once text was streamed, no second answer begins.

use super::candidate::Candidate;
use super::provider::{
    Answer, ErrorClass, Provider, ProviderError, ProviderKind, Request, Retryable, Sink, TrackingSink,
};
use picoclaw_sandbox::{Redactor, printable_lines};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest wait that a provider may ask for; a longer one is a failure.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The candidates of one name: asked in rotation, each a stand-in for the others.
pub(super) struct Group {
    /// The entries of that name, each with its keys in order.
    pub(super) entries: Vec<Vec<Arc<Candidate>>>,
    /// The next entry of the rotation.
    pub(super) next: Arc<AtomicUsize>,
}

/// How often and how soon a failed request is repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    /// How often.
    pub(super) retries: u64,
    /// The wait before the first retry; the n-th waits n times as long.
    pub(super) backoff: Duration,
}

/// A model and its stand-ins.
pub struct FallbackChain {
    pub(super) groups: Vec<Group>,
    pub(super) retry_policy: RetryPolicy,
    pub(super) redactor: Redactor,
}

/// A failure after which another request is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The model that failed.
    pub model: String,
    /// What went wrong, without secrets.
    pub why: String,
    /// The wait before the next request.
    pub wait: Duration,
}

impl FallbackChain {
    /// The name of the requested model.
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

    /// Asks until a candidate answers: the answer, and the model that gave it.
    pub async fn ask(
        &self,
        request: &Request,
        sink: &mut dyn Sink,
        on_retry: &(dyn Fn(&Retry) + Send + Sync),
    ) -> Result<(Answer, String), ProviderError> {
        let candidates = self.order();
        let mut attempt = Attempt {
            has_several: candidates.len() > 1,
            request,
            on_retry,
            redactor: &self.redactor,
            failures: Vec::new(),
        };
        let mut ready = ready(&candidates, &mut attempt);
        for round in 0..=self.retry_policy.retries {
            if let Some(answer) = attempt.round(&ready, sink).await? {
                return Ok(answer);
            }
            ready.retain(|candidate| attempt.may_pass(candidate));
            if ready.is_empty() || round == self.retry_policy.retries {
                break;
            }
            let wait = self.retry_policy.backoff.saturating_mul(u32::try_from(round + 1).unwrap_or(u32::MAX));
            attempt.wait(wait).await;
        }
        Err(attempt.give_up())
    }

    /// All candidates in the order of asking.
    fn order(&self) -> Vec<Arc<Candidate>> {
        let mut order = Vec::new();
        for group in &self.groups {
            let count = group.entries.len();
            let first = if count > 1 { group.next.fetch_add(1, Ordering::Relaxed) % count } else { 0 };
            let rotated = group.entries[first..].iter().chain(&group.entries[..first]);
            order.extend(rotated.flatten().cloned());
        }
        order
    }
}

/// The candidates that are not cooling down; when all are, the one that is due first.
fn ready(candidates: &[Arc<Candidate>], attempt: &mut Attempt<'_>) -> Vec<Arc<Candidate>> {
    if !attempt.has_several {
        return candidates.to_vec();
    }
    let ready: Vec<_> = candidates.iter().filter(|candidate| candidate.rest().is_none()).cloned().collect();
    let chosen = if ready.is_empty() {
        candidates.iter().min_by_key(|candidate| candidate.rest()).cloned().into_iter().collect()
    } else {
        ready
    };
    for candidate in candidates.iter().filter(|one| !chosen.iter().any(|other| Arc::ptr_eq(one, other))) {
        let rest = candidate.rest().unwrap_or_default().as_secs() + 1;
        let text = format!("skipped: it failed before and rests for another {rest} s");
        attempt.note(candidate, ProviderError::new(ErrorClass::RateLimit, text));
    }
    chosen
}

/// One request on its way through a chain.
struct Attempt<'a> {
    has_several: bool,
    request: &'a Request,
    on_retry: &'a (dyn Fn(&Retry) + Send + Sync),
    redactor: &'a Redactor,
    /// The latest failure of each candidate.
    failures: Vec<(Arc<Candidate>, ProviderError)>,
}

impl Attempt<'_> {
    /// Asks each candidate once; an error is final.
    async fn round(
        &mut self,
        ready: &[Arc<Candidate>],
        sink: &mut dyn Sink,
    ) -> Result<Option<(Answer, String)>, ProviderError> {
        for (place, candidate) in ready.iter().enumerate() {
            if !self.within_rate_limit(candidate).await {
                continue;
            }
            let mut tracking = TrackingSink::new(sink);
            let why = match candidate.provider.ask(self.request, &mut tracking).await {
                Ok(answer) => {
                    candidate.answered();
                    return Ok(Some((answer, candidate.provider.model().to_owned())));
                }
                Err(why) => why,
            };
            if tracking.has_text() || is_final(why.class) {
                return Err(self.final_error(&why));
            }
            if !self.failures.iter().any(|(other, _)| Arc::ptr_eq(other, candidate)) {
                candidate.failed(&why);
            }
            if place + 1 < ready.len() {
                self.report(candidate, &why, Duration::ZERO);
            }
            self.note(candidate, why);
        }
        Ok(None)
    }

    /// Waits for the entry's rate limit if it is the only candidate; else `false` passes it over.
    async fn within_rate_limit(&mut self, candidate: &Arc<Candidate>) -> bool {
        while let Err(wait) = candidate.rate_limit.take(Instant::now()) {
            let mut limit = ProviderError::new(
                ErrorClass::RateLimit,
                "its own limit of requests a minute (`rpm`) is reached",
            );
            if self.has_several {
                limit.retry_after = Some(wait);
                self.note(candidate, limit);
                return false;
            }
            self.report(candidate, &limit, wait);
            sleep(wait).await;
        }
        true
    }

    /// Whether the latest failure of a candidate may pass by itself, soon.
    fn may_pass(&self, candidate: &Arc<Candidate>) -> bool {
        let latest = self.failures.iter().find(|(other, _)| Arc::ptr_eq(other, candidate));
        latest.is_some_and(|(_, why)| {
            let passes =
                matches!(why.class, ErrorClass::RateLimit | ErrorClass::Timeout | ErrorClass::Network);
            let is_soon = why.retry_after.is_none_or(|after| after <= MAX_WAIT);
            passes && is_soon && candidate.provider.retryable() == Retryable::Yes
        })
    }

    /// Waits before the next round: the backoff, or the shortest wait that a provider asks for.
    async fn wait(&self, backoff: Duration) {
        let Some((candidate, why)) = self.failures.last() else { return };
        let soonest = self.failures.iter().filter_map(|(_, why)| why.retry_after).min().unwrap_or_default();
        let wait = backoff.max(soonest.min(MAX_WAIT));
        self.report(candidate, why, wait);
        sleep(wait).await;
    }

    fn report(&self, candidate: &Candidate, why: &ProviderError, wait: Duration) {
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
            return ProviderError::new(ErrorClass::Unknown, "there is no model to ask");
        };
        if !self.has_several {
            return self.final_error(last);
        }
        let mut text = format!("fallback: all {} candidates failed:", self.failures.len());
        for (candidate, why) in &self.failures {
            text.push_str(&format!("\n  {}: {}", candidate.label(), one_line(&why.message)));
        }
        self.final_error(&ProviderError { message: text, ..last.clone() })
    }

    fn final_error(&self, why: &ProviderError) -> ProviderError {
        let message = format!("LLM call failed after retries: {}", self.clean(&why.message));
        ProviderError { message, ..why.clone() }
    }

    fn clean(&self, text: &str) -> String {
        printable_lines(&self.redactor.clean(text)).into_owned()
    }
}

/// Failures that every other candidate would have too, or of an unknown kind.
fn is_final(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Format | ErrorClass::ContextOverflow | ErrorClass::Unknown)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
