//! Bytes to text.
//!
//! UTF-8, UTF-16 and the western encodings are read; what is left of the older ones on the web is refused by name.
//!
//! Invariant: bytes that are no text are never passed on as if they were.

use super::error::FetchError;
use super::http::shown;

/// What windows-1252 has where Latin-1 has control characters.
const WESTERN: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}',
    '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
];

/// The character of one byte of windows-1252.
pub(super) fn western(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WESTERN.get(usize::from(byte) - 0x80).copied().unwrap_or('\u{fffd}'),
        other => char::from(other),
    }
}

/// `bytes` as text: by their mark, by what the header said, by what the page says of itself, or by looking.
pub(super) fn decode(bytes: &[u8], told: Option<&str>) -> Result<String, FetchError> {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => return Ok(String::from_utf8_lossy(rest).into_owned()),
        [0xff, 0xfe, rest @ ..] => return Ok(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => return Ok(utf16(rest, u16::from_be_bytes)),
        _ => {}
    }
    let meant = told.map(str::to_owned).or_else(|| own_word(bytes));
    match meant.as_deref() {
        Some("utf-8" | "utf8" | "unicode-1-1-utf-8") => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Some("utf-16" | "utf-16le") if told.is_some() => Ok(utf16(bytes, u16::from_le_bytes)),
        Some("utf-16be") if told.is_some() => Ok(utf16(bytes, u16::from_be_bytes)),
        _ => look(bytes, meant.as_deref()),
    }
}

fn look(bytes: &[u8], meant: Option<&str>) -> Result<String, FetchError> {
    if bytes.contains(&0) {
        return Err(FetchError::NotText("binary".to_owned()));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.to_owned());
    }
    match meant {
        None
        | Some("us-ascii" | "ascii" | "iso-8859-1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252") => {
            Ok(bytes.iter().map(|byte| western(*byte)).collect())
        }
        Some(other) => Err(FetchError::Charset(shown(other))),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(unit);
    char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()
}

/// What `<meta charset=…>` says within the first bytes.
fn own_word(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..bytes.len().min(1024))?.to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start).into_owned();
    let meta = start.get(start.find("<meta")?..)?;
    let word = meta.get(meta.find("charset=")? + "charset=".len()..)?;
    let word = word.trim_start_matches(['"', '\'', ' ']);
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c)).unwrap_or(word.len());
    word.get(..end).filter(|word| !word.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_text_they_are() {
        for (why, bytes, told, want) in [
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
            (
                "not known here",
                b"\x83\x65",
                Some("shift_jis"),
                Err("the text is encoded as `shift_jis`, which is not read here"),
            ),
            (
                "not known here, by its own word",
                b"<meta charset=gbk>\xc4\xe3",
                None,
                Err("the text is encoded as `gbk`, which is not read here"),
            ),
            (
                "a picture that says it is text",
                b"\x89PNG\r\n\x1a\n\0\0",
                None,
                Err("the content is not text (`binary`)"),
            ),
            ("nothing", b"", None, Ok("")),
        ] {
            let got = decode(bytes, told).map_err(|why| why.to_string());
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{why}");
        }
    }
}
