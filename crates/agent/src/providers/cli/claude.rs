//! Claude Code: `claude -p`, which prints one JSON object.

use super::parse_calls::parse_reply;
use super::process::{CliFormat, Exited, Invocation, Safety, failure};
use super::prompt;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Request, Usage};
use crate::providers::sanitize::AnswerParts;
use serde_json::Value;

/// The longest instructions on a command line; the kernel's limit is 128 KiB an argument.
const MAX_INSTRUCTIONS_BYTES: usize = 100 << 10;

/// The command line of Claude Code.
pub(in crate::providers) struct Claude {
    model: Option<String>,
}

impl Claude {
    /// For the model `id`; the program's own name means its default model.
    pub(in crate::providers) fn new(id: &str) -> Self {
        let is_named = !matches!(id, "claude-code" | "claude-cli" | "claudecli" | "");
        Self { model: is_named.then(|| id.to_owned()) }
    }
}

impl CliFormat for Claude {
    fn program(&self) -> &'static str {
        "claude"
    }

    fn principal(&self) -> &'static str {
        "claude-cli"
    }

    fn invocation(&self, request: &Request, safety: Safety, _directory: Option<&str>) -> Invocation {
        let mut command: Vec<String> = ["claude", "-p", "--output-format", "json"].map(str::to_owned).into();
        if safety == Safety::Caged {
            command.push("--dangerously-skip-permissions".to_owned());
        }
        command.push("--no-chrome".to_owned());
        if let Some(model) = &self.model {
            command.extend(["--model".to_owned(), model.clone()]);
        }
        let (instructions, conversation) = (prompt::instructions(request), prompt::conversation(request));
        let is_fit = instructions.len() <= MAX_INSTRUCTIONS_BYTES && !instructions.contains('\0');
        match instructions.as_str() {
            "" => Invocation { command, arguments: vec!["-".to_owned()], input: conversation },
            _ if is_fit => {
                let arguments = vec!["--system-prompt".to_owned(), instructions, "-".to_owned()];
                Invocation { command, arguments, input: conversation }
            }
            _ => Invocation {
                command,
                arguments: vec!["-".to_owned()],
                input: format!("{instructions}\n\n{conversation}"),
            },
        }
    }

    fn parse(&self, exited: &Exited) -> Result<Answer, ProviderError> {
        let document = match serde_json::from_str::<Value>(exited.stdout.trim()) {
            // In verbose mode the result is the last of a list.
            Ok(Value::Array(items)) => items.into_iter().rev().find(|item| item["type"] == "result"),
            Ok(document) => Some(document),
            Err(_) => None,
        };
        let Some(document) = document.filter(Value::is_object) else {
            if exited.code != Some(0) {
                return Err(exited.failure("claude"));
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
        if exited.code != Some(0) {
            return Err(exited.failure("claude"));
        }
        let reply = parse_reply(result.ok_or_else(|| malformed("the object of `claude` holds no `result`"))?);
        let parts = AnswerParts {
            content: reply.text,
            reasoning: String::new(),
            calls: reply.calls,
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
