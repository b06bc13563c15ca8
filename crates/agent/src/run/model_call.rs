//! One request to the model, with streamed text filtered for secrets.

use super::conversation::Conversation;
use super::event::Event;
use super::token_estimate;
use super::turn::TurnError;
use super::turn_loop::TurnContext;
use crate::providers::{Answer, ErrorClass, FallbackChain, Retry, Sink};
use std::collections::BTreeSet;

/// An answer, the model that gave it, and its cost.
pub(super) struct ModelAnswer {
    pub(super) answer: Answer,
    pub(super) model: String,
    pub(super) tokens: u64,
}

/// Asks once; `None` when the conversation is too long for the model.
pub(super) async fn ask(
    context: &TurnContext<'_>,
    chain: &FallbackChain,
    conversation: &Conversation,
    round: u64,
) -> Result<Option<ModelAnswer>, TurnError> {
    let hooks = context.hooks;
    let changed = hooks.before_llm(round, chain.model(), &conversation.request).await?;
    let request = changed.as_ref().unwrap_or(&conversation.request);
    let mut sink = FilteringSink {
        context,
        pending: String::new(),
        is_withheld: hooks.review_answers(),
        has_streamed: false,
    };
    let on_retry = |retry: &Retry| {
        let why = context.clean(&format!("{}: {}", retry.model, retry.why));
        context.emit(Event::Retry { why, wait: retry.wait });
    };
    let answer = tokio::select! {
        biased;
        () = context.turn.halt.cancelled() => return Err(TurnError::Halted),
        answer = chain.ask(request, &mut sink, &on_retry) => answer,
    };
    sink.finish();
    match answer {
        Ok((answer, model)) => {
            let answer = hooks.after_llm(round, &model, with_unique_ids(answer, round)).await?;
            sink.release(&answer);
            let tokens = cost(&answer, conversation);
            Ok(Some(ModelAnswer { answer, model, tokens }))
        }
        Err(error) if error.class == ErrorClass::ContextOverflow => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The tokens that the provider reports, else an estimate.
fn cost(answer: &Answer, conversation: &Conversation) -> u64 {
    let reported = answer.usage.input + answer.usage.output;
    if reported > 0 {
        return reported;
    }
    let calls = answer.tool_calls.iter().map(|call| token_estimate::of_text(&call.arguments));
    conversation.estimate() + token_estimate::of_text(&answer.content) + calls.sum::<u64>()
}

/// Gives an id to every call that has none, or the id of another call.
fn with_unique_ids(mut answer: Answer, round: u64) -> Answer {
    let mut seen = BTreeSet::new();
    for (at, call) in answer.tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{round}_{at}");
        }
        seen.insert(call.id.clone());
    }
    answer
}

/// Emits streamed text as soon as no configured secret can begin in it.
struct FilteringSink<'t> {
    context: &'t TurnContext<'t>,
    pending: String,
    /// Whether a hook has to see the answer first.
    is_withheld: bool,
    has_streamed: bool,
}

impl FilteringSink<'_> {
    /// Emits the text that the hooks left, in place of what was withheld.
    fn release(&self, answer: &Answer) {
        if self.is_withheld && self.has_streamed && !answer.content.is_empty() {
            self.context.emit(Event::Text(self.context.clean(&answer.content)));
        }
    }

    fn finish(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        if !rest.is_empty() {
            self.context.emit(Event::Text(self.context.clean(&rest)));
        }
    }
}

impl Sink for FilteringSink<'_> {
    fn text(&mut self, piece: &str) {
        self.has_streamed = true;
        if self.is_withheld {
            return;
        }
        self.pending.push_str(piece);
        let ready = self.context.redactor.ready(&mut self.pending);
        if !ready.is_empty() {
            self.context.emit(Event::Text(ready));
        }
    }
}
