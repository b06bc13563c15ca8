//! Claude Code: `claude -p`, one JSON object out.
//!
//! Invariant: an answer is one object that says it is no error; everything else is a failure with its reason.

use super::calls;
use super::program::{Ended, Safety, Tongue, Words, failure};
use super::prompt;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Request, Usage};
use crate::providers::spelling::Parts;
use serde_json::Value;

/// The longest instructions on a command line; the kernel takes 128 KiB a word.
const LONGEST: usize = 100 << 10;

/// The command line of Claude Code.
pub(in crate::providers) struct Claude {
    model: Option<String>,
}

impl Claude {
    /// For the model `id`; the program's own name leaves the choice to it.
    pub(in crate::providers) fn new(id: &str) -> Self {
        let is_named = !matches!(id, "claude-code" | "claude-cli" | "claudecli" | "");
        Self { model: is_named.then(|| id.to_owned()) }
    }
}

impl Tongue for Claude {
    fn program(&self) -> &'static str {
        "claude"
    }

    fn principal(&self) -> &'static str {
        "claude-cli"
    }

    fn words(&self, request: &Request, safety: Safety, _stay: Option<&str>) -> Words {
        let mut command: Vec<String> = ["claude", "-p", "--output-format", "json"].map(str::to_owned).into();
        if safety == Safety::Ours {
            command.push("--dangerously-skip-permissions".to_owned());
        }
        command.push("--no-chrome".to_owned());
        if let Some(model) = &self.model {
            command.extend(["--model".to_owned(), model.clone()]);
        }
        let (instructions, conversation) = (prompt::instructions(request), prompt::conversation(request));
        let is_fit = instructions.len() <= LONGEST && !instructions.contains('\0');
        match instructions.as_str() {
            "" => Words { command, said: vec!["-".to_owned()], input: conversation },
            _ if is_fit => {
                let said = vec!["--system-prompt".to_owned(), instructions, "-".to_owned()];
                Words { command, said, input: conversation }
            }
            _ => Words {
                command,
                said: vec!["-".to_owned()],
                input: format!("{instructions}\n\n{conversation}"),
            },
        }
    }

    fn read(&self, ended: &Ended) -> Result<Answer, ProviderError> {
        let document = match serde_json::from_str::<Value>(ended.stdout.trim()) {
            // With more detail switched on, the result is the last of a list.
            Ok(Value::Array(items)) => items.into_iter().rev().find(|item| item["type"] == "result"),
            Ok(document) => Some(document),
            Err(_) => None,
        };
        let Some(document) = document.filter(Value::is_object) else {
            if ended.code != Some(0) {
                return Err(ended.failure("claude"));
            }
            return Err(malformed("`claude` did not print one JSON object"));
        };
        let result = document.get("result").and_then(Value::as_str);
        if document.get("is_error").and_then(Value::as_bool).unwrap_or_default() {
            return Err(failure(format!(
                "claude cli returned error: {}",
                result.unwrap_or("(no reason given)")
            )));
        }
        if ended.code != Some(0) {
            return Err(ended.failure("claude"));
        }
        let said = calls::read(result.ok_or_else(|| malformed("the object of `claude` holds no `result`"))?);
        let parts = Parts {
            content: said.text,
            reasoning: String::new(),
            calls: said.calls,
            usage: usage(&document),
        };
        parts.finish(Finish::Stop)
    }
}

fn usage(document: &Value) -> Usage {
    let count = |name: &str| document.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Usage {
        input: input.iter().filter_map(|name| count(name)).fold(0, u64::saturating_add),
        output: count("output_tokens").unwrap_or_default(),
    }
}
