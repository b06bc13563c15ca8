//! What an answer holds, as its header tells and its first bytes show.
//!
//! Invariant: only text gets through; what is not is named.

use super::error::FetchError;
use super::http::shown;

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Json,
    Plain,
    /// Nobody said.
    Untold,
}

/// Types outside `text/` that are text all the same.
const TEXTUAL: &[&str] = &[
    "application/xml",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/x-ndjson",
    "application/jsonl",
    "application/sql",
    "application/graphql",
    "application/x-sh",
    "application/x-www-form-urlencoded",
    "application/x-subrip",
];

/// Kind and charset, as a `Content-Type` tells them.
pub(super) fn told(header: &str) -> Result<(Kind, Option<String>), FetchError> {
    let mut parts = header.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        name.trim().eq_ignore_ascii_case("charset").then_some(value).filter(|value| !value.is_empty())
    });
    let kind = match essence.as_str() {
        "" => Kind::Untold,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/json" | "text/json" => Kind::Json,
        other if other.ends_with("+json") => Kind::Json,
        other if other.starts_with("text/") || other.ends_with("+xml") || TEXTUAL.contains(&other) => {
            Kind::Plain
        }
        other => return Err(FetchError::NotText(shown(other))),
    };
    Ok((kind, charset))
}

/// The kind of a text that nobody told the kind of.
pub(super) fn guess(text: &str) -> Kind {
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") { Kind::Html } else { Kind::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_gets_through_and_nothing_else_does() {
        for (header, want) in [
            ("text/html; charset=\"UTF-8\"", Ok((Kind::Html, Some("utf-8")))),
            ("TEXT/HTML", Ok((Kind::Html, None))),
            ("application/xhtml+xml", Ok((Kind::Html, None))),
            ("application/json;charset=latin1", Ok((Kind::Json, Some("latin1")))),
            ("application/problem+json", Ok((Kind::Json, None))),
            ("text/plain; boundary=x; Charset=utf-16", Ok((Kind::Plain, Some("utf-16")))),
            ("text/markdown", Ok((Kind::Plain, None))),
            ("application/rss+xml", Ok((Kind::Plain, None))),
            ("application/javascript", Ok((Kind::Plain, None))),
            ("", Ok((Kind::Untold, None))),
            ("image/png", Err("the content is not text (`image/png`)")),
            ("application/octet-stream", Err("the content is not text (`application/octet-stream`)")),
            ("application/pdf", Err("the content is not text (`application/pdf`)")),
            ("audio/\u{1b}[31m", Err("the content is not text (`audio/\\u{1b}[31m`)")),
        ] {
            let want = want.map(|(kind, charset)| (kind, charset.map(str::to_owned))).map_err(str::to_owned);
            assert_eq!(told(header).map_err(|why| why.to_string()), want, "`{header}`");
        }
        assert_eq!(guess(" <!DOCTYPE HTML><p>"), Kind::Html);
        assert_eq!(guess("plain é"), Kind::Plain);
    }
}
