//! Content type and character encoding of a response. Only text passes.

use super::error::{FetchError, excerpt};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    Html,
    Json,
    Plain,
    /// There was no `Content-Type`.
    Unknown,
}

/// Textual types outside `text/`.
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

/// Kind and charset of a `Content-Type`.
pub(super) fn parse(header: &str) -> Result<(ContentKind, Option<String>), FetchError> {
    let mut parts = header.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        name.trim().eq_ignore_ascii_case("charset").then_some(value).filter(|value| !value.is_empty())
    });
    let kind = match essence.as_str() {
        "" => ContentKind::Unknown,
        "text/html" | "application/xhtml+xml" => ContentKind::Html,
        "application/json" | "text/json" => ContentKind::Json,
        other if other.ends_with("+json") => ContentKind::Json,
        other if other.starts_with("text/") || other.ends_with("+xml") || TEXTUAL.contains(&other) => {
            ContentKind::Plain
        }
        other => return Err(FetchError::NotText(excerpt(other))),
    };
    Ok((kind, charset))
}

/// The kind of a text that came without a `Content-Type`.
pub(super) fn guess(text: &str) -> ContentKind {
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        ContentKind::Html
    } else {
        ContentKind::Plain
    }
}

/// Decodes a body by its byte order mark, its declared charset, the page's `<meta charset>`, or by
/// inspection.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>) -> Result<String, FetchError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Ok(decode_as(encoding, bytes.get(mark..).unwrap_or_default()));
    }
    let label = declared.map(str::to_owned).or_else(|| meta_charset(bytes));
    let encoding = label.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    // Of a page's own word UTF-16 cannot be true: the `<meta>` was found as ASCII.
    let is_utf16 = encoding == Some(UTF_16LE) || encoding == Some(UTF_16BE);
    if let Some(encoding) = encoding
        && (encoding == UTF_8 || is_utf16 && declared.is_some())
    {
        return Ok(decode_as(encoding, bytes));
    }
    if bytes.contains(&0) {
        return Err(FetchError::NotText("binary".to_owned()));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.to_owned());
    }
    match (encoding, label) {
        (Some(encoding), _) if !is_utf16 => Ok(decode_as(encoding, bytes)),
        (_, None) => Ok(decode_as(WINDOWS_1252, bytes)),
        (_, Some(label)) => Err(FetchError::Charset(excerpt(&label))),
    }
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// The label of a `<meta charset=…>` within the first bytes.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..bytes.len().min(1024))?.to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start).into_owned();
    let meta = start.get(start.find("<meta")?..)?;
    let label = meta.get(meta.find("charset=")? + "charset=".len()..)?;
    let label = label.trim_start_matches(['"', '\'', ' ']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c)).unwrap_or(label.len());
    label.get(..end).filter(|label| !label.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_text_they_are() {
        for (why, bytes, declared, want) in [
            ("UTF-8 unless told otherwise", "né".as_bytes(), None, Ok("né")),
            ("a mark", b"\xef\xbb\xbfhi", Some("latin1"), Ok("hi")),
            ("Latin-1, told", b"n\xe9 \x80", Some("iso-8859-1"), Ok("né €")),
            ("Latin-1, by looking", b"n\xe9", None, Ok("né")),
            (
                "by the page's own word",
                b"<meta charset=\"windows-1252\">n\xe9",
                None,
                Ok("<meta charset=\"windows-1252\">né"),
            ),
            ("UTF-16 by its mark", b"\xff\xfeh\0i\0", None, Ok("hi")),
            ("UTF-16, told", b"\0h\0i", Some("utf-16be"), Ok("hi")),
            ("broken UTF-8, told", b"a\xffb", Some("utf-8"), Ok("a\u{fffd}b")),
            ("told wrongly, and UTF-8 all the same", "né".as_bytes(), Some("shift_jis"), Ok("né")),
            ("Shift JIS, told", b"\x83\x65", Some("shift_jis"), Ok("テ")),
            ("GBK, by its own word", b"<meta charset=gbk>\xc4\xe3", None, Ok("<meta charset=gbk>你")),
            (
                "not known here",
                b"\x83\x65",
                Some("x-klingon"),
                Err("the text is encoded as `x-klingon`, which is not supported"),
            ),
            (
                "not known here, by its own word",
                b"<meta charset=x-klingon>\xc4\xe3",
                None,
                Err("the text is encoded as `x-klingon`, which is not supported"),
            ),
            (
                "a picture that says it is text",
                b"\x89PNG\r\n\x1a\n\0\0",
                None,
                Err("the content is not text (`binary`)"),
            ),
            ("nothing", b"", None, Ok("")),
        ] {
            let got = decode(bytes, declared).map_err(|error| error.to_string());
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{why}");
        }
    }

    #[test]
    fn text_gets_through_and_nothing_else_does() {
        for (header, want) in [
            ("text/html; charset=\"UTF-8\"", Ok((ContentKind::Html, Some("utf-8")))),
            ("TEXT/HTML", Ok((ContentKind::Html, None))),
            ("application/xhtml+xml", Ok((ContentKind::Html, None))),
            ("application/json;charset=latin1", Ok((ContentKind::Json, Some("latin1")))),
            ("application/problem+json", Ok((ContentKind::Json, None))),
            ("text/plain; boundary=x; Charset=utf-16", Ok((ContentKind::Plain, Some("utf-16")))),
            ("text/markdown", Ok((ContentKind::Plain, None))),
            ("application/rss+xml", Ok((ContentKind::Plain, None))),
            ("application/javascript", Ok((ContentKind::Plain, None))),
            ("", Ok((ContentKind::Unknown, None))),
            ("image/png", Err("the content is not text (`image/png`)")),
            ("application/octet-stream", Err("the content is not text (`application/octet-stream`)")),
            ("application/pdf", Err("the content is not text (`application/pdf`)")),
            ("audio/\u{1b}[31m", Err("the content is not text (`audio/\\u{1b}[31m`)")),
        ] {
            let want = want.map(|(kind, charset)| (kind, charset.map(str::to_owned))).map_err(str::to_owned);
            assert_eq!(parse(header).map_err(|why| why.to_string()), want, "`{header}`");
        }
        assert_eq!(guess(" <!DOCTYPE HTML><p>"), ContentKind::Html);
        assert_eq!(guess("plain é"), ContentKind::Plain);
    }
}
