//! What went wrong, from what a provider says about it.
//!
//! Providers agree on status codes and on little else, so a few words of their messages decide as well.
//!
//! Invariant: a message holds a short piece of what the peer sent, and never what we sent.

use crate::providers::provider::{Class, ProviderError};
use serde_json::Value;
use std::time::Duration;

/// How much of a body a message shows.
const SHOWN: usize = 400;

/// How much of a body is searched for words.
const SEARCHED: usize = 8 << 10;

/// Signs that the conversation is too long for the model.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "input length",
    "too many tokens",
    "maximum number of tokens",
    "reduce the length",
    "exceeds the available context",
    "request_too_large",
    "string_above_max_length",
];

/// Signs that there is no money.
const UNPAID: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient credits",
    "credit balance",
    "billing",
    "payment required",
];

/// Signs of a crowd.
const CROWD: &[&str] = &["rate_limit", "rate limit", "too many requests", "overloaded"];

/// The failure that a status and a body mean.
pub(super) fn told(status: u16, retry_after: Option<Duration>, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let document = serde_json::from_slice::<Value>(body).ok();
    let class = class(status, &searched(&text));
    let is_page = document.is_none() && looks_like_a_page(&text);
    let message = if is_page {
        format!(
            "API request failed:\n  Status: {status}\n  Body:   a web page (HTML) instead of JSON; is `api_base` right?"
        )
    } else {
        let body = document.as_ref().and_then(said).unwrap_or(&text);
        format!("API request failed:\n  Status: {status}\n  Body:   {}", shown(body))
    };
    ProviderError { class, message, retry_after }
}

/// The failure in a document that came with a good status, or in an event of a stream.
pub(in crate::providers) fn whole_error(document: &Value) -> Option<ProviderError> {
    let error = document.get("error").filter(|error| !error.is_null())?;
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let body = document.to_string();
    let mut failure = told(code.filter(|code| *code >= 400).unwrap_or(200), None, body.as_bytes());
    if failure.class == Class::Unknown {
        let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
        failure.class = match kind {
            "authentication_error" | "permission_error" => Class::Auth,
            "billing_error" => Class::Billing,
            "rate_limit_error" => Class::RateLimit,
            "invalid_request_error" | "not_found_error" => Class::Format,
            "api_error" | "server_error" | "overloaded_error" | "timeout_error" => Class::Timeout,
            _ => Class::Unknown,
        };
    }
    Some(failure)
}

/// Whether a body is a page for people.
pub(super) fn looks_like_a_page(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let start: String = start.chars().take(64).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

fn class(status: u16, words: &str) -> Class {
    let has = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match status {
        401 | 403 => Class::Auth,
        402 => Class::Billing,
        400 | 413 | 422 | 429 | 200 if has(UNPAID) => Class::Billing,
        200 | 400 | 413 | 422 | 500 if has(TOO_LONG) => Class::ContextOverflow,
        408 | 500..=599 => Class::Timeout,
        429 => Class::RateLimit,
        200 if has(CROWD) => Class::RateLimit,
        413 => Class::ContextOverflow,
        400 | 404 | 405 | 406 | 409..=428 => Class::Format,
        _ => Class::Unknown,
    }
}

/// The sentence in an error document.
fn said(document: &Value) -> Option<&str> {
    let error = document.get("error");
    let places = [
        error.and_then(|error| error.get("message")),
        error,
        document.get("message"),
        document.get("detail"),
        document.get("error_description"),
    ];
    places.into_iter().flatten().find_map(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn searched(text: &str) -> String {
    text.chars().take(SEARCHED).collect::<String>().to_lowercase()
}

/// A short piece of text, on one line.
fn shown(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &flat[..cut]),
        None if flat.is_empty() => "(empty)".to_owned(),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_and_a_few_words_decide_the_class() {
        for (why, status, body, want) in [
            ("a wrong key", 401, r#"{"error":{"message":"Incorrect API key"}}"#, Class::Auth),
            ("a closed door", 403, "", Class::Auth),
            ("no money", 402, "", Class::Billing),
            ("no money, said as a crowd", 429, r#"{"error":{"code":"insufficient_quota"}}"#, Class::Billing),
            (
                "no money, said as a wrong request",
                400,
                r#"{"error":{"message":"Your credit balance is too low"}}"#,
                Class::Billing,
            ),
            ("a crowd", 429, "slow down", Class::RateLimit),
            ("patience is over", 408, "", Class::Timeout),
            ("a broken server", 500, "", Class::Timeout),
            ("an overloaded one", 529, "", Class::Timeout),
            ("a wrong request", 400, r#"{"error":"bad"}"#, Class::Format),
            ("an unknown model", 404, r#"{"error":{"message":"model not found"}}"#, Class::Format),
            (
                "too long, OpenAI",
                400,
                r#"{"error":{"code":"context_length_exceeded"}}"#,
                Class::ContextOverflow,
            ),
            (
                "too long, in words",
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
                Class::ContextOverflow,
            ),
            (
                "too long, Anthropic",
                400,
                r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000"}}"#,
                Class::ContextOverflow,
            ),
            (
                "too long, llama.cpp",
                500,
                r#"{"error":{"message":"the request exceeds the available context size"}}"#,
                Class::ContextOverflow,
            ),
            ("too large", 413, "", Class::ContextOverflow),
            ("something else", 302, "", Class::Unknown),
        ] {
            assert_eq!(told(status, None, body.as_bytes()).class, want, "{why}");
        }
    }

    #[test]
    fn a_message_shows_a_short_piece_of_the_body() {
        for (why, status, body, want) in [
            (
                "the provider's sentence",
                401,
                r#"{"error":{"message":"bad\nkey"}}"#,
                "API request failed:\n  Status: 401\n  Body:   bad key",
            ),
            (
                "an error that is a string",
                400,
                r#"{"error":"bad"}"#,
                "API request failed:\n  Status: 400\n  Body:   bad",
            ),
            ("plain text", 500, "oh\nno", "API request failed:\n  Status: 500\n  Body:   oh no"),
            ("nothing", 503, "", "API request failed:\n  Status: 503\n  Body:   (empty)"),
            (
                "a page",
                502,
                " <!DOCTYPE html><p>",
                "API request failed:\n  Status: 502\n  Body:   a web page (HTML) instead of JSON; is `api_base` right?",
            ),
        ] {
            assert_eq!(told(status, None, body.as_bytes()).message, want, "{why}");
        }
        assert!(told(500, None, &[b'a'; 1 << 20]).message.len() < 1000, "a long body is cut");
        assert!(told(500, None, b"\xff\xfe").message.contains("500"), "what is no text does no harm");
    }

    #[test]
    fn an_error_may_come_with_a_good_status() {
        for (why, document, want) in [
            ("no error", json!({"choices": []}), None),
            ("an empty one", json!({"error": null}), None),
            ("with a code", json!({"error": {"code": 429, "message": "x"}}), Some(Class::RateLimit)),
            (
                "with a type",
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                Some(Class::RateLimit),
            ),
            ("with a type alone", json!({"error": {"type": "authentication_error"}}), Some(Class::Auth)),
            ("nobody knows", json!({"error": "huh"}), Some(Class::Unknown)),
        ] {
            assert_eq!(whole_error(&document).map(|error| error.class), want, "{why}");
        }
    }
}
