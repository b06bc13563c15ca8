//! One request to the model: pieces of the answer as they come, room made when there is none, and what it cost.
//!
//! Invariant: a piece is shown only when no configured secret can begin in it; an answer's calls can be told apart.

use super::conversation::Conversation;
use super::escort::Escort;
use super::estimate;
use super::event::Event;
use super::turn::{Turn, TurnError};
use crate::providers::{Answer, Chain, Class, Retry, Sink};
use picoclaw_sandbox::Redactor;
use std::collections::BTreeSet;

/// An answer, the model that gave it, and what it cost.
pub(super) struct Said {
    pub(super) answer: Answer,
    pub(super) model: String,
    pub(super) tokens: u64,
}

/// Asks once. `Err(None)` means that the conversation is too long.
pub(super) async fn ask(
    (chain, escort): (&Chain, &Escort),
    conversation: &Conversation,
    turn: &Turn<'_>,
    redactor: &Redactor,
    round: u64,
) -> Result<Said, Option<TurnError>> {
    let changed = escort.before_llm(round, chain.model(), &conversation.request).await.map_err(Some)?;
    let request = changed.as_ref().unwrap_or(&conversation.request);
    let mut pieces = Pieces { events: turn.events, redactor, growing: String::new() };
    let retry = |retry: &Retry| {
        let why = redactor.clean(&format!("{}: {}", retry.model, retry.why)).into_owned();
        (turn.events)(Event::Retry { why, wait: retry.wait });
    };
    let asked = tokio::select! {
        biased;
        () = turn.halt.cancelled() => return Err(Some(TurnError::Halted)),
        asked = chain.ask(request, &mut pieces, &retry) => asked,
    };
    pieces.finish();
    match asked {
        Ok((answer, model)) => {
            let answer = escort.after_llm(round, &model, named(answer, round)).await.map_err(Some)?;
            Ok(cost(answer, model, conversation))
        }
        Err(why) if why.class == Class::ContextOverflow => Err(None),
        Err(why) => Err(Some(why.into())),
    }
}

/// What the provider says that it cost, else an estimate.
fn cost(answer: Answer, model: String, conversation: &Conversation) -> Said {
    let told = answer.usage.input + answer.usage.output;
    let tokens = if told > 0 {
        told
    } else {
        let calls = answer.tool_calls.iter().map(|call| estimate::of_text(&call.arguments));
        conversation.estimate() + estimate::of_text(&answer.content) + calls.sum::<u64>()
    };
    Said { answer, model, tokens }
}

/// Gives a name to every call that has none, or another call's.
fn named(mut answer: Answer, round: u64) -> Answer {
    let mut seen = BTreeSet::new();
    for (at, call) in answer.tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{round}_{at}");
        }
        seen.insert(call.id.clone());
    }
    answer
}

/// Passes pieces on as soon as they are known to be clean.
struct Pieces<'t> {
    events: &'t (dyn Fn(Event) + Send + Sync),
    redactor: &'t Redactor,
    growing: String,
}

impl Pieces<'_> {
    fn finish(&mut self) {
        let rest = std::mem::take(&mut self.growing);
        if !rest.is_empty() {
            (self.events)(Event::Text(self.redactor.clean(&rest).into_owned()));
        }
    }
}

impl Sink for Pieces<'_> {
    fn text(&mut self, piece: &str) {
        self.growing.push_str(piece);
        let ready = self.redactor.ready(&mut self.growing);
        if !ready.is_empty() {
            (self.events)(Event::Text(ready));
        }
    }
}
