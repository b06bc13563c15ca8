//! Chat completions, whole or as a stream of chunks.

use crate::run::TurnOutcome;
use bytes::Bytes;
use serde_json::{Value, json};

/// The members that every chunk of a completion repeats.
#[derive(Debug, Clone)]
pub(super) struct CompletionMeta {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

impl CompletionMeta {
    /// The whole completion.
    pub(super) fn completion(&self, ending: &TurnOutcome) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": ending.answer, "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": usage(ending),
        })
    }

    /// The first chunk.
    pub(super) fn first_chunk(&self) -> Bytes {
        self.delta_chunk(json!({"role": "assistant", "content": ""}), Value::Null)
    }

    /// A chunk of text.
    pub(super) fn text_chunk(&self, text: &str) -> Bytes {
        self.delta_chunk(json!({"content": text}), Value::Null)
    }

    /// The last chunk.
    pub(super) fn last_chunk(&self) -> Bytes {
        self.delta_chunk(json!({}), "stop".into())
    }

    /// The chunk with the token counts.
    pub(super) fn usage_chunk(&self, ending: &TurnOutcome) -> Bytes {
        let mut chunk = self.chunk(json!([]));
        if let Some(fields) = chunk.as_object_mut() {
            fields.insert("usage".to_owned(), usage(ending));
        }
        event(&chunk)
    }

    fn delta_chunk(&self, delta: Value, finish: Value) -> Bytes {
        event(&self.chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}])))
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

/// One server-sent event.
pub(super) fn event(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// The last event of a stream.
pub(super) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

/// A comment that keeps an idle stream open.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": pulse\n\n");

fn usage(ending: &TurnOutcome) -> Value {
    let (input, output) = (ending.usage.input, ending.usage.output);
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}
