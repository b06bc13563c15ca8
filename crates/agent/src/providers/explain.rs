//! A failure of a model in one sentence for a person, with the remedy.

use super::provider::{ErrorClass, ProviderError};

/// The beginnings of messages that say nothing to a person.
const PREFIXES: [&str; 2] = ["LLM call failed after retries: ", "API request failed:"];

impl ProviderError {
    /// One sentence, and the remedy on a line of its own.
    pub fn explain(&self) -> String {
        let (message, own_hint) = match self.message.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint.to_owned())),
            None => (self.message.as_str(), None),
        };
        let what = match self.class {
            ErrorClass::Auth => "the provider refuses the key",
            ErrorClass::Billing => "the provider's account has no credit",
            ErrorClass::RateLimit => "the provider has had too many requests",
            ErrorClass::Timeout => "the provider failed or took too long",
            ErrorClass::Network => "the provider cannot be reached",
            ErrorClass::Format => "the provider does not take the request",
            ErrorClass::ContextOverflow => "the conversation is too long for the model",
            ErrorClass::Malformed => "the provider's answer cannot be read",
            ErrorClass::Unknown => "the model failed",
        };
        format!("{what}: {}\nhint: {}", detail(message), own_hint.unwrap_or_else(|| self.remedy()))
    }

    fn remedy(&self) -> String {
        match self.class {
            ErrorClass::Auth => "check the key in `.security.yml` or the environment; `picoclaw onboard` sets up another model".to_owned(),
            ErrorClass::Billing => "add credit, or choose another model with `/model` or `--model`".to_owned(),
            ErrorClass::RateLimit => match self.retry_after {
                Some(after) => format!("try again in {} s, or choose another model", after.as_secs().max(1)),
                None => "try again later; `agents.defaults.max_llm_retries` retries by itself".to_owned(),
            },
            ErrorClass::Timeout => "try again; `request_timeout` of the model is the longest wait".to_owned(),
            ErrorClass::Network => "is the server running, and is `api_base` right?".to_owned(),
            ErrorClass::Format => "is the model's id right? `picoclaw config show` has it".to_owned(),
            ErrorClass::ContextOverflow => "`/new` starts a new session, `/compact` shortens this one".to_owned(),
            ErrorClass::Malformed => "is `api_base` the address of a model's interface?".to_owned(),
            ErrorClass::Unknown => "`picoclaw agent --debug` shows more".to_owned(),
        }
    }
}

/// A message on one line, with the status of a failed request behind what the provider said.
pub fn brief(message: &str) -> String {
    match message.split_once(PREFIXES[1]) {
        Some((before, rest)) => format!("{before}{}", detail(rest)),
        None => detail(message),
    }
}

/// What the provider said, on one line, with the status behind it.
fn detail(message: &str) -> String {
    let mut rest = message.trim();
    for prefix in PREFIXES {
        rest = rest.strip_prefix(prefix).unwrap_or(rest).trim_start();
    }
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = rest.strip_prefix("Status:").and_then(|rest| rest.split_once("Body:"));
    match status {
        Some((status, body)) => format!("{} (status {})", flat(body), status.trim()),
        None => flat(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_sentence_and_a_remedy() {
        for (why, class, message, want) in [
            (
                "a wrong key",
                ErrorClass::Auth,
                "LLM call failed after retries: API request failed:\n  Status: 401\n  Body:   Incorrect API key",
                "the provider refuses the key: Incorrect API key (status 401)\nhint: check the key",
            ),
            (
                "a server that is down",
                ErrorClass::Network,
                "LLM call failed after retries: could not connect to `http://h:1`: Connection refused",
                "the provider cannot be reached: could not connect to `http://h:1`: Connection refused\nhint: is the server",
            ),
            (
                "a hint of its own",
                ErrorClass::Format,
                "API request failed:\n  Status: 404\n  Body:   no\nhint: most servers want `/v1`",
                "the provider does not take the request: no (status 404)\nhint: most servers want `/v1`",
            ),
        ] {
            let text = ProviderError::new(class, message).explain();
            assert!(text.starts_with(want), "{why}: {text}");
            assert_eq!(text.lines().count(), 2, "{why}: {text}");
        }
        assert_eq!(
            brief("m: API request failed:\n  Status: 429\n  Body:   slow down"),
            "m: slow down (status 429)"
        );
        let limited = ProviderError {
            retry_after: Some(std::time::Duration::from_secs(7)),
            ..ProviderError::new(ErrorClass::RateLimit, "slow down")
        };
        assert!(limited.explain().contains("try again in 7 s"), "{}", limited.explain());
    }
}
