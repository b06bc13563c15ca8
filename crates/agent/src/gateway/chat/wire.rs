//! Answers as clients of OpenAI's protocol read them.
//!
//! Invariant: an answer in pieces is the same answer.

use crate::run::TurnOutcome;
use bytes::Bytes;
use serde_json::{Value, json};

/// What every piece of one answer has in common.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

impl Heading {
    /// The whole answer.
    pub(super) fn whole(&self, ending: &TurnOutcome) -> Value {
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

    /// The first piece.
    pub(super) fn opening(&self) -> Bytes {
        self.piece(json!({"role": "assistant", "content": ""}), Value::Null)
    }

    /// A piece of text.
    pub(super) fn text(&self, text: &str) -> Bytes {
        self.piece(json!({"content": text}), Value::Null)
    }

    /// The last piece.
    pub(super) fn closing(&self) -> Bytes {
        self.piece(json!({}), "stop".into())
    }

    /// What it cost.
    pub(super) fn cost(&self, ending: &TurnOutcome) -> Bytes {
        let mut chunk = self.chunk(json!([]));
        if let Some(fields) = chunk.as_object_mut() {
            fields.insert("usage".to_owned(), usage(ending));
        }
        event(&chunk)
    }

    fn piece(&self, delta: Value, finish: Value) -> Bytes {
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

/// One event of the stream.
pub(super) fn event(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// The end of the stream.
pub(super) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

/// Shows that a quiet stream lives.
pub(super) const PULSE: Bytes = Bytes::from_static(b": pulse\n\n");

fn usage(ending: &TurnOutcome) -> Value {
    let (input, output) = (ending.usage.input, ending.usage.output);
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}
