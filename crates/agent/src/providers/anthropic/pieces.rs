//! An answer of the messages interface in pieces.
//!
//! Invariant: a call is handed on only when its block was closed and the message said why it stopped.

use super::answer::{call, finish, kind, usage, word};
use crate::message::ToolCall;
use crate::providers::http::{Assembler, Progress, malformed, whole_error};
use crate::providers::provider::{Answer, Finish, ProviderError, Sink};
use crate::providers::spelling::{CALLS, Parts};
use serde_json::Value;
use std::collections::BTreeMap;

/// An answer in the making.
#[derive(Default)]
pub(in crate::providers) struct Pieces {
    parts: Parts,
    /// Calls whose blocks are not closed yet, by the block's index.
    open: BTreeMap<u64, Opened>,
    finish: Option<Finish>,
}

/// A call that has begun.
struct Opened {
    call: ToolCall,
    /// The arguments in pieces; they replace what the block began with.
    pieces: String,
}

impl Assembler for Pieces {
    fn event(&mut self, data: &str, sink: &mut dyn Sink) -> Result<Progress, ProviderError> {
        let event: Value = serde_json::from_str(data)
            .map_err(|why| malformed(format_args!("an event is not JSON ({why})")))?;
        if let Some(why) = whole_error(&event) {
            return Err(why);
        }
        match kind(&event) {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.parts.usage = usage(message, self.parts.usage);
            }
            "content_block_start" => self.begin(&event, sink)?,
            "content_block_delta" => self.delta(&event, sink),
            "content_block_stop" => self.close(index(&event)),
            "message_delta" => {
                self.parts.usage = usage(&event, self.parts.usage);
                let reason =
                    event.get("delta").and_then(|delta| delta.get("stop_reason")).and_then(Value::as_str);
                if reason.is_some() {
                    self.finish = Some(finish(reason));
                }
            }
            "message_stop" => return Ok(Progress::Over),
            // `ping`, and what may be added later.
            _ => {}
        }
        Ok(if self.finish.is_some() { Progress::Complete } else { Progress::Open })
    }

    fn finish(self) -> Result<Answer, ProviderError> {
        let Some(finish) = self.finish else {
            return Err(malformed("the stream did not say why it stopped"));
        };
        if !self.open.is_empty() && finish != Finish::Length {
            return Err(malformed("the stream ended inside a tool call"));
        }
        self.parts.finish(finish)
    }
}

impl Pieces {
    fn begin(&mut self, event: &Value, sink: &mut dyn Sink) -> Result<(), ProviderError> {
        let Some(block) = event.get("content_block") else { return Ok(()) };
        match kind(block) {
            "text" => self.text(word(block, "text"), sink),
            "thinking" => self.parts.reasoning.push_str(word(block, "thinking")),
            "tool_use" => {
                if self.open.len() + self.parts.calls.len() >= CALLS {
                    return Err(malformed(format_args!("more than {CALLS} tool calls at once")));
                }
                self.close(index(event));
                self.open.insert(index(event), Opened { call: call(block), pieces: String::new() });
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, event: &Value, sink: &mut dyn Sink) {
        let Some(delta) = event.get("delta") else { return };
        match kind(delta) {
            "text_delta" => self.text(word(delta, "text"), sink),
            "thinking_delta" => self.parts.reasoning.push_str(word(delta, "thinking")),
            "input_json_delta" => {
                if let Some(opened) = self.open.get_mut(&index(event)) {
                    opened.pieces.push_str(word(delta, "partial_json"));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, index: u64) {
        if let Some(Opened { mut call, pieces }) = self.open.remove(&index) {
            if !pieces.trim().is_empty() {
                call.arguments = pieces;
            }
            self.parts.calls.push(call);
        }
    }

    fn text(&mut self, text: &str, sink: &mut dyn Sink) {
        self.parts.content.push_str(text);
        sink.text(text);
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or_default()
}
