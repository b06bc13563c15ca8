//! The loop: asks the model, runs what it calls for, and asks again until it answers.
//!
//! Invariant: every call that a model makes gets exactly one result, in the order of the calls.

use super::event::Event;
use super::mind::{Mind, Minds};
use super::turn::{Ending, Turn, TurnError};
use crate::call::{Call, Reply};
use crate::hall::Hall;
use crate::message::{Message, Role, ToolCall};
use crate::providers::{Answer, Request, Sink, ToolSpec, Usage};
use crate::tools::{Outcome, schema_of};
use picoclaw_policy::Subject;
use picoclaw_policy::config::Config;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// Runs turns.
#[derive(Clone)]
pub struct Runner {
    hall: Hall,
    config: Arc<Config>,
    minds: Arc<dyn Minds>,
}

impl Runner {
    /// A runner over this hall.
    pub fn new(hall: Hall, config: Arc<Config>, minds: Arc<dyn Minds>) -> Self {
        Self { hall, config, minds }
    }

    /// Runs one turn to its end.
    pub async fn turn(&self, turn: Turn<'_>) -> Result<Ending, TurnError> {
        let mind = self.minds.mind(&turn.subject.agent, turn.model.as_deref())?;
        let turns = &self.config.turns;
        let mut request = Request {
            messages: vec![Message::text(Role::User, turn.input.clone())],
            tools: self.offered(&turn.subject),
            max_tokens: turns.max_tokens,
            temperature: turns.temperature,
            agent: turn.subject.agent.clone(),
        };
        let (mut usage, mut rounds, mut unasked, mut failed) = (Usage::default(), 0, false, false);
        loop {
            if turn.halt.is_raised() {
                return Err(TurnError::Halted);
            }
            rounds += 1;
            let (answer, model) = self.ask(&*mind, &request, &turn).await?;
            usage.input += answer.usage.input;
            usage.output += answer.usage.output;
            if answer.tool_calls.is_empty() || rounds > turns.max_tool_iterations {
                return Ok(Ending { answer: answer.content, model, usage, rounds, unasked, failed });
            }
            let message = Message {
                tool_calls: answer.tool_calls.clone(),
                ..Message::text(Role::Assistant, answer.content)
            };
            request.messages.push(message);
            for call in answer.tool_calls {
                let reply = self.call(&call, &turn).await;
                unasked |= matches!(reply, Reply::Unasked(_));
                failed = !matches!(reply, Reply::Done(_));
                request.messages.push(Message::result(call.id, reply.text()));
            }
        }
    }

    fn offered(&self, subject: &Subject) -> Vec<ToolSpec> {
        let policy = self.hall.warden().policy();
        let registry = self.hall.registry();
        let tools = registry.seen_by(subject).filter(|tool| policy.offers(tool.name(), subject).is_ok());
        tools
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.about().to_owned(),
                parameters: schema_of(tool),
            })
            .collect()
    }

    async fn ask(
        &self,
        mind: &dyn Mind,
        request: &Request,
        turn: &Turn<'_>,
    ) -> Result<(Answer, String), TurnError> {
        let mut pieces = Pieces(turn.events);
        let retry = |why: &str, wait| (turn.events)(Event::Retry { why: why.to_owned(), wait });
        Ok(mind.ask(request, &mut pieces, &retry).await?)
    }

    async fn call(&self, call: &ToolCall, turn: &Turn<'_>) -> Reply {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        (turn.events)(Event::ToolCall {
            id: call.id.clone(),
            tool: call.name.clone(),
            arguments: arguments.clone(),
        });
        let began = Instant::now();
        let asked = Call { tool: call.name.clone(), arguments, subject: turn.subject.clone() };
        let watcher: crate::hall::Watcher = Arc::new(|_| {});
        let reply = match self.hall.call(asked, turn.halt, Arc::clone(&watcher)).await {
            Outcome::Reply(reply) => reply,
            Outcome::Asks(asked) => {
                self.hall.answer(asked, turn.subject.clone(), None, turn.halt, watcher).await
            }
        };
        (turn.events)(Event::ToolResult {
            id: call.id.clone(),
            tool: call.name.clone(),
            reply: reply.clone(),
            took: began.elapsed(),
        });
        reply
    }
}

struct Pieces<'t>(&'t (dyn Fn(Event) + Send + Sync));

impl Sink for Pieces<'_> {
    fn text(&mut self, piece: &str) {
        (self.0)(Event::Text(piece.to_owned()));
    }
}
