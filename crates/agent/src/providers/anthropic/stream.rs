//! A streamed response of the messages API. A call counts only when its block is closed.

use super::response::{call, finish, kind, string, usage};
use crate::message::ToolCall;
use crate::providers::http::{Assembler, Progress, from_document, malformed};
use crate::providers::provider::{Answer, Finish, ProviderError, Sink};
use crate::providers::sanitize::{AnswerParts, MAX_CALLS};
use serde_json::Value;
use std::collections::BTreeMap;

/// Assembles a streamed answer.
#[derive(Default)]
pub(in crate::providers) struct StreamAssembler {
    parts: AnswerParts,
    /// Calls whose blocks are not closed yet, by the block's index.
    open: BTreeMap<u64, OpenCall>,
    finish: Option<Finish>,
}

/// A call whose block is not closed yet.
struct OpenCall {
    call: ToolCall,
    /// The streamed arguments; they replace those at the beginning of the block.
    arguments: String,
}

impl Assembler for StreamAssembler {
    fn event(&mut self, data: &str, sink: &mut dyn Sink) -> Result<Progress, ProviderError> {
        let event: Value = serde_json::from_str(data)
            .map_err(|why| malformed(format_args!("an event is not JSON ({why})")))?;
        if let Some(why) = from_document(&event) {
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
            "message_stop" => return Ok(Progress::Ended),
            // `ping`, and unknown events.
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

impl StreamAssembler {
    fn begin(&mut self, event: &Value, sink: &mut dyn Sink) -> Result<(), ProviderError> {
        let Some(block) = event.get("content_block") else { return Ok(()) };
        match kind(block) {
            "text" => self.text(string(block, "text"), sink),
            "thinking" => self.parts.reasoning.push_str(string(block, "thinking")),
            "tool_use" => {
                if self.open.len() + self.parts.calls.len() >= MAX_CALLS {
                    return Err(malformed(format_args!("more than {MAX_CALLS} tool calls at once")));
                }
                self.close(index(event));
                self.open.insert(index(event), OpenCall { call: call(block), arguments: String::new() });
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, event: &Value, sink: &mut dyn Sink) {
        let Some(delta) = event.get("delta") else { return };
        match kind(delta) {
            "text_delta" => self.text(string(delta, "text"), sink),
            "thinking_delta" => self.parts.reasoning.push_str(string(delta, "thinking")),
            "input_json_delta" => {
                if let Some(open) = self.open.get_mut(&index(event)) {
                    open.arguments.push_str(string(delta, "partial_json"));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, index: u64) {
        if let Some(OpenCall { mut call, arguments }) = self.open.remove(&index) {
            if !arguments.trim().is_empty() {
                call.arguments = arguments;
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
