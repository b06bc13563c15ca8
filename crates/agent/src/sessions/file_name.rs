//! From a session's name to its file's name.
//!
//! Names are percent-encoded but for letters, digits, `.`, `_` and `-`, also a dot at the
//! beginning. A long name is cut and gets a hash of the whole, behind a `~`, which no short name
//! can have.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The longest name.
const MAX_NAME_BYTES: usize = 1024;

/// The longest encoded name that is used as it is; `.meta.json` must still fit behind it.
const MAX_ENCODED_BYTES: usize = 200;

/// The part of a longer name that is kept.
const PREFIX_BYTES: usize = 150;

const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');

/// The file name without its extension; `None` when `name` is not valid.
pub(super) fn file_name(name: &str) -> Option<String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let mut encoded = match name.strip_prefix('.') {
        Some(rest) => format!("%2E{}", utf8_percent_encode(rest, ENCODED)),
        None => utf8_percent_encode(name, ENCODED).to_string(),
    };
    if encoded.len() <= MAX_ENCODED_BYTES {
        return Some(encoded);
    }
    encoded.truncate(PREFIX_BYTES);
    encoded.push('~');
    for byte in Sha256::digest(name.as_bytes()).iter().take(16) {
        let _ = write!(encoded, "{byte:02x}");
    }
    Some(encoded)
}

/// The name of the session in `file`; `None` when it was cut, or is not the name of a session file.
pub(super) fn session_name(file: &str) -> Option<String> {
    let name = percent_decode_str(file).decode_utf8().ok()?.into_owned();
    (file_name(&name).as_deref() == Some(file)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_is_escaped_so_that_it_can_be_read() {
        for (why, name, want) in [
            ("plain", "notes", Some("notes")),
            ("the default", "cli:default", Some("cli%3Adefault")),
            ("a slash", "a/1", Some("a%2F1")),
            ("an underscore is itself", "a_1", Some("a_1")),
            ("case is kept", "A:1", Some("A%3A1")),
            ("a way up", "..", Some("%2E.")),
            ("hidden", ".x", Some("%2Ex")),
            ("the escape itself", "a%3A1", Some("a%253A1")),
            ("what long names end in", "a~b", Some("a%7Eb")),
            ("a line feed", "a\nb", Some("a%0Ab")),
            ("not ASCII", "é", Some("%C3%A9")),
            ("nothing", "", None),
        ] {
            assert_eq!(file_name(name).as_deref(), want, "{why}");
            if let Some(file) = want {
                assert_eq!(session_name(file).as_deref(), Some(name), "{why}, and back");
            }
        }
        let four: BTreeSet<_> = ["a:1", "a/1", "a_1", "A:1"].into_iter().filter_map(file_name).collect();
        assert_eq!(four.len(), 4);
    }

    #[test]
    fn long_names_fit_and_differ() {
        let (one, two) = ("x".repeat(1000) + "1", "x".repeat(1000) + "2");
        let files = [file_name(&one).unwrap(), file_name(&two).unwrap()];
        assert_ne!(files[0], files[1]);
        assert!(files.iter().all(|file| file.len() + ".meta.json".len() <= 255));
        assert_eq!(file_name(&"x".repeat(1025)), None);
    }

    proptest! {
        #[test]
        fn no_two_names_share_a_file(a in ".{1,60}", b in ".{1,60}") {
            let (Some(one), Some(two)) = (file_name(&a), file_name(&b)) else { return Ok(()) };
            prop_assert_eq!(a == b, one == two);
            prop_assert!(!one.contains('/') && !one.starts_with('.') && one.is_ascii());
        }
    }
}
