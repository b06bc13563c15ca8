//! Classifies errors by the status and by a few phrases of the body.

use crate::providers::provider::{ErrorClass, ProviderError};
use picoclaw_sandbox::shortened;
use serde_json::Value;
use std::time::Duration;

/// The part of a body that a message shows, in characters.
const MAX_EXCERPT_CHARS: usize = 400;

/// The part of a body that is searched for phrases, in characters.
const MAX_SEARCHED_CHARS: usize = 8 << 10;

/// Phrases for a conversation that exceeds the context window.
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

/// Phrases for an account without credit.
const BILLING: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient credits",
    "credit balance",
    "billing",
    "payment required",
];

/// Phrases for too many requests.
const RATE_LIMIT: &[&str] = &["rate_limit", "rate limit", "too many requests", "overloaded"];

/// The error of a status and a body.
pub(super) fn from_response(status: u16, retry_after: Option<Duration>, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let document = serde_json::from_slice::<Value>(body).ok();
    let class = classify(status, &text.chars().take(MAX_SEARCHED_CHARS).collect::<String>().to_lowercase());
    let is_page = document.is_none() && is_html(&text);
    let message = if is_page {
        format!(
            "API request failed:\n  Status: {status}\n  Body:   a web page (HTML) instead of JSON; is `api_base` right?"
        )
    } else {
        let body = document.as_ref().and_then(error_message).unwrap_or(&text);
        format!("API request failed:\n  Status: {status}\n  Body:   {}", excerpt(body))
    };
    ProviderError { class, message, retry_after }
}

/// The error in a document of a successful response, or in an event of a stream.
pub(in crate::providers) fn from_document(document: &Value) -> Option<ProviderError> {
    let error = document.get("error").filter(|error| !error.is_null())?;
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let body = document.to_string();
    let mut failure = from_response(code.filter(|code| *code >= 400).unwrap_or(200), None, body.as_bytes());
    if failure.class == ErrorClass::Unknown {
        let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
        failure.class = match kind {
            "authentication_error" | "permission_error" => ErrorClass::Auth,
            "billing_error" => ErrorClass::Billing,
            "rate_limit_error" => ErrorClass::RateLimit,
            "invalid_request_error" | "not_found_error" => ErrorClass::Format,
            "api_error" | "server_error" | "overloaded_error" | "timeout_error" => ErrorClass::Timeout,
            _ => ErrorClass::Unknown,
        };
    }
    Some(failure)
}

/// Whether a body is HTML.
pub(super) fn is_html(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let start: String = start.chars().take(64).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

fn classify(status: u16, text: &str) -> ErrorClass {
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    match status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Billing,
        400 | 413 | 422 | 429 | 200 if has(BILLING) => ErrorClass::Billing,
        200 | 400 | 413 | 422 | 500 if has(TOO_LONG) => ErrorClass::ContextOverflow,
        408 | 500..=599 => ErrorClass::Timeout,
        429 => ErrorClass::RateLimit,
        200 if has(RATE_LIMIT) => ErrorClass::RateLimit,
        413 => ErrorClass::ContextOverflow,
        400 | 404 | 405 | 406 | 409..=428 => ErrorClass::Format,
        _ => ErrorClass::Unknown,
    }
}

/// The message of an error document.
fn error_message(document: &Value) -> Option<&str> {
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

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.is_empty() { "(empty)".to_owned() } else { shortened(&flat, MAX_EXCERPT_CHARS).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_and_a_few_words_decide_the_class() {
        for (why, status, body, want) in [
            ("a wrong key", 401, r#"{"error":{"message":"Incorrect API key"}}"#, ErrorClass::Auth),
            ("a closed door", 403, "", ErrorClass::Auth),
            ("no money", 402, "", ErrorClass::Billing),
            (
                "no money, said as a crowd",
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                ErrorClass::Billing,
            ),
            (
                "no money, said as a wrong request",
                400,
                r#"{"error":{"message":"Your credit balance is too low"}}"#,
                ErrorClass::Billing,
            ),
            ("a crowd", 429, "slow down", ErrorClass::RateLimit),
            ("patience is over", 408, "", ErrorClass::Timeout),
            ("a broken server", 500, "", ErrorClass::Timeout),
            ("an overloaded one", 529, "", ErrorClass::Timeout),
            ("a wrong request", 400, r#"{"error":"bad"}"#, ErrorClass::Format),
            ("an unknown model", 404, r#"{"error":{"message":"model not found"}}"#, ErrorClass::Format),
            (
                "too long, OpenAI",
                400,
                r#"{"error":{"code":"context_length_exceeded"}}"#,
                ErrorClass::ContextOverflow,
            ),
            (
                "too long, in words",
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
                ErrorClass::ContextOverflow,
            ),
            (
                "too long, Anthropic",
                400,
                r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000"}}"#,
                ErrorClass::ContextOverflow,
            ),
            (
                "too long, llama.cpp",
                500,
                r#"{"error":{"message":"the request exceeds the available context size"}}"#,
                ErrorClass::ContextOverflow,
            ),
            ("too large", 413, "", ErrorClass::ContextOverflow),
            ("something else", 302, "", ErrorClass::Unknown),
        ] {
            assert_eq!(from_response(status, None, body.as_bytes()).class, want, "{why}");
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
            assert_eq!(from_response(status, None, body.as_bytes()).message, want, "{why}");
        }
        assert!(from_response(500, None, &[b'a'; 1 << 20]).message.len() < 1000, "a long body is cut");
        assert!(
            from_response(500, None, b"\xff\xfe").message.contains("500"),
            "what is no text does no harm"
        );
    }

    #[test]
    fn a_failure_may_come_with_a_good_status() {
        for (why, document, want) in [
            ("no error", json!({"choices": []}), None),
            ("an empty one", json!({"error": null}), None),
            ("with a code", json!({"error": {"code": 429, "message": "x"}}), Some(ErrorClass::RateLimit)),
            (
                "with a type",
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                Some(ErrorClass::RateLimit),
            ),
            ("with a type alone", json!({"error": {"type": "authentication_error"}}), Some(ErrorClass::Auth)),
            ("nobody knows", json!({"error": "huh"}), Some(ErrorClass::Unknown)),
        ] {
            assert_eq!(from_document(&document).map(|error| error.class), want, "{why}");
        }
    }
}
