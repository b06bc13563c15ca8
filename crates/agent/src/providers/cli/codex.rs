//! Codex: `codex exec --json`, one JSON object a line.
//!
//! Invariant: calls are taken only from a turn that was completed; lines that are no events are passed over.

use super::calls;
use super::program::{Ended, Safety, Tongue, Words, failure};
use super::prompt;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Request, Usage};
use crate::providers::spelling::Parts;
use serde_json::Value;

/// The command line of Codex.
pub(in crate::providers) struct Codex {
    model: Option<String>,
}

impl Codex {
    /// For the model `id`; the program's own name leaves the choice to it.
    pub(in crate::providers) fn new(id: &str) -> Self {
        let is_named = !matches!(id, "codex-cli" | "codexcli" | "codex" | "");
        Self { model: is_named.then(|| id.to_owned()) }
    }
}

impl Tongue for Codex {
    fn program(&self) -> &'static str {
        "codex"
    }

    fn principal(&self) -> &'static str {
        "codex-cli"
    }

    fn words(&self, request: &Request, safety: Safety, stay: Option<&str>) -> Words {
        let mut command: Vec<String> = ["codex", "exec", "--json"].map(str::to_owned).into();
        if safety == Safety::Ours {
            command.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
        }
        command.extend(["--skip-git-repo-check", "--color", "never"].map(str::to_owned));
        for (flag, value) in [("-m", self.model.as_deref()), ("-C", stay)] {
            command.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
        }
        let (instructions, conversation) = (prompt::instructions(request), prompt::conversation(request));
        let input = match instructions.as_str() {
            "" => conversation,
            _ => format!("## System Instructions\n\n{instructions}\n\n## Task\n\n{conversation}"),
        };
        Words { command, said: vec!["-".to_owned()], input }
    }

    fn read(&self, ended: &Ended) -> Result<Answer, ProviderError> {
        let told = Told::read(&ended.stdout);
        let Some((last, earlier)) = told.texts.split_last() else {
            return Err(match told.error {
                Some(why) => failure(format!("codex cli returned error: {why}")),
                None if ended.code != Some(0) => ended.failure("codex"),
                None => malformed("`codex` printed no answer"),
            });
        };
        let said = calls::read(last);
        if !said.calls.is_empty() && !told.is_completed && ended.code != Some(0) {
            return Err(malformed("`codex` broke off in the middle of its turn"));
        }
        let mut texts: Vec<&str> = earlier.iter().map(String::as_str).collect();
        texts.push(&said.text);
        texts.retain(|text| !text.trim().is_empty());
        let parts = Parts {
            content: texts.join("\n"),
            reasoning: String::new(),
            calls: said.calls,
            usage: told.usage,
        };
        parts.finish(Finish::Stop)
    }
}

/// What the events say.
#[derive(Default)]
struct Told {
    texts: Vec<String>,
    error: Option<String>,
    usage: Usage,
    is_completed: bool,
}

impl Told {
    fn read(output: &str) -> Self {
        let mut told = Self::default();
        for event in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            match event["type"].as_str().unwrap_or_default() {
                "item.completed" if event["item"]["type"] == "agent_message" => {
                    told.texts.extend(text(&event["item"]["text"]));
                }
                "turn.completed" => {
                    let count = |name: &str| event["usage"][name].as_u64().unwrap_or_default();
                    told.usage = Usage { input: count("input_tokens"), output: count("output_tokens") };
                    told.is_completed = true;
                }
                "error" => told.error = text(&event["message"]).or(told.error),
                "turn.failed" => told.error = text(&event["error"]["message"]).or(told.error),
                _ => {}
            }
        }
        told
    }
}
