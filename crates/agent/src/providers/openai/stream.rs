//! A streamed response of chat completions.
//!
//! The deltas of a call carry its index; some servers leave it out, or give every call the same one
//! and a new id.

use super::response::{finish, reasoning, usage};
use crate::message::ToolCall;
use crate::providers::http::{Assembler, Progress, from_document, malformed};
use crate::providers::provider::{Answer, Finish, ProviderError, Sink};
use crate::providers::sanitize::{self, AnswerParts, MAX_CALLS};
use serde_json::Value;

/// The last event of a stream.
const DONE: &str = "[DONE]";

/// Assembles a streamed answer.
#[derive(Default)]
pub(in crate::providers) struct StreamAssembler {
    parts: AnswerParts,
    indices: Vec<Option<u64>>,
    finish: Option<Finish>,
}

impl Assembler for StreamAssembler {
    fn event(&mut self, data: &str, sink: &mut dyn Sink) -> Result<Progress, ProviderError> {
        if data.trim() == DONE {
            return Ok(Progress::Ended);
        }
        let event: Value = serde_json::from_str(data)
            .map_err(|why| malformed(format_args!("an event is not JSON ({why})")))?;
        if let Some(why) = from_document(&event) {
            return Err(why);
        }
        if let Some(usage) = usage(&event) {
            self.parts.usage = usage;
        }
        let choice = event.get("choices").and_then(|choices| choices.get(0));
        if let Some(choice) = choice {
            if let Some(delta) = choice.get("delta") {
                self.delta(delta, sink)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finish = Some(finish(Some(reason)));
            }
        }
        Ok(if self.finish.is_some() { Progress::Complete } else { Progress::Open })
    }

    fn finish(mut self) -> Result<Answer, ProviderError> {
        for call in self.parts.calls.iter_mut().filter(|call| call.arguments.trim().is_empty()) {
            call.arguments = "{}".to_owned();
        }
        if self.finish.is_none() && self.parts.calls.is_empty() && self.parts.content.is_empty() {
            return Err(malformed("the stream ended without an answer"));
        }
        self.parts.finish(self.finish.unwrap_or_default())
    }
}

impl StreamAssembler {
    fn delta(&mut self, delta: &Value, sink: &mut dyn Sink) -> Result<(), ProviderError> {
        for field in ["content", "refusal"] {
            if let Some(text) = delta.get(field).and_then(Value::as_str) {
                self.parts.content.push_str(text);
                sink.text(text);
            }
        }
        self.parts.reasoning.push_str(reasoning(delta));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: &Value) -> Result<(), ProviderError> {
        let function = piece.get("function");
        let string = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) =
            (string(piece.get("id")), string(function.and_then(|function| function.get("name"))));
        let index = piece.get("index").and_then(Value::as_u64);
        let place = self.place(index, &id, &name)?;
        let call = &mut self.parts.calls[place];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(text)) => call.arguments.push_str(text),
            Some(Value::Null) | None => {}
            Some(other) => call.arguments.push_str(&sanitize::arguments(Some(other))),
        }
        Ok(())
    }

    /// The call that a delta belongs to: the one with its index, unless its id and name begin
    /// another one.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, ProviderError> {
        let same = match index {
            Some(_) => self.indices.iter().rposition(|known| *known == index),
            None => self.indices.len().checked_sub(1),
        };
        let begins_another = |call: &ToolCall| {
            let is_other = !id.is_empty() && !call.id.is_empty() && call.id != id;
            !name.is_empty() && !call.name.is_empty() && (is_other || (index.is_none() && id.is_empty()))
        };
        match same {
            Some(place) if !begins_another(&self.parts.calls[place]) => Ok(place),
            _ if self.indices.len() >= MAX_CALLS => {
                Err(malformed(format_args!("more than {MAX_CALLS} tool calls at once")))
            }
            _ => {
                self.indices.push(index);
                self.parts.calls.push(ToolCall {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                Ok(self.indices.len() - 1)
            }
        }
    }
}
