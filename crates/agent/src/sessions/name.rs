//! From a session's name to its file's name.
//!
//! Everything but letters, digits, `.`, `_` and `-` is written as `%` and two digits, so that no two names meet; a dot at the
//! beginning is as well, since `.` and `..` are not files. A long name keeps its beginning and gets a hash of the whole,
//! behind a `~`, which no short name can have.
//!
//! Invariant: different names have different files, also where only case tells them apart.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The longest name that is taken.
const LONGEST: usize = 1024;

/// The longest escaped name that is used as it is; `.meta.json` must still fit behind it.
const PLAIN: usize = 200;

/// What a long name keeps of its beginning.
const HEAD: usize = 150;

/// The file name, without its ending; `None` when `name` is not a session's.
pub(super) fn file_name(name: &str) -> Option<String> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || (byte == b'.' && at > 0);
        if is_plain {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    if escaped.len() <= PLAIN {
        return Some(escaped);
    }
    escaped.truncate(HEAD);
    escaped.push('~');
    for byte in Sha256::digest(name.as_bytes()).iter().take(16) {
        let _ = write!(escaped, "{byte:02x}");
    }
    Some(escaped)
}

/// The name that an escaped one stands for; `None` when it was shortened, or is not one of ours.
pub(super) fn name_of(file: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(file.len());
    let mut rest = file.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let name = String::from_utf8(bytes).ok()?;
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
                assert_eq!(name_of(file).as_deref(), Some(name), "{why}, and back");
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
