//! Replaces a text that occurs exactly once.

/// The result of a replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// It occurred once; this is the new text.
    Once(Vec<u8>),
    /// How often it occurred otherwise, without overlaps.
    Times(usize),
}

/// Replaces the only occurrence of `old`, which is not empty.
///
/// The contents need not be UTF-8: a match lies within a valid piece, because no byte that begins a
/// character is part of an invalid one.
pub(super) fn replace_once(contents: &[u8], old: &str, new: &str) -> Edited {
    let mut count = 0;
    let mut first = 0;
    let mut start = 0;
    for chunk in contents.utf8_chunks() {
        for (at, _) in chunk.valid().match_indices(old) {
            if count == 0 {
                first = start + at;
            }
            count += 1;
        }
        start += chunk.valid().len() + chunk.invalid().len();
    }
    if count != 1 {
        return Edited::Times(count);
    }
    let (before, after) = (&contents[..first], &contents[first + old.len()..]);
    Edited::Once([before, new.as_bytes(), after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_only_when_it_is_there_once() {
        for (why, contents, old, want) in [
            ("in the middle", "one two three", "two", Edited::Once(b"one 2 three".to_vec())),
            ("at the beginning", "two", "two", Edited::Once(b"2".to_vec())),
            ("not there", "one", "two", Edited::Times(0)),
            ("longer than the file", "t", "two", Edited::Times(0)),
            ("twice", "two two", "two", Edited::Times(2)),
            ("overlaps count once each, left to right", "aaaa", "aa", Edited::Times(2)),
            ("overlap at the end", "aaa", "aa", Edited::Once(b"2a".to_vec())),
            ("across lines", "a\ntwo\nb", "a\ntwo", Edited::Once(b"2\nb".to_vec())),
        ] {
            assert_eq!(replace_once(contents.as_bytes(), old, "2"), want, "{why}: `{contents}`");
        }
    }

    #[test]
    fn broken_text_around_a_match_stays_as_it_is() {
        assert_eq!(
            replace_once(b"\xff\xe2\x82two\xf0\x9f", "two", "2"),
            Edited::Once(b"\xff\xe2\x822\xf0\x9f".to_vec())
        );
        assert_eq!(
            replace_once("é\u{20ac}".as_bytes(), "\u{20ac}", "E"),
            Edited::Once("éE".as_bytes().to_vec())
        );
        assert_eq!(
            replace_once(b"\xe2\x82\xe2\x82\xac", "\u{20ac}", "E"),
            Edited::Once(b"\xe2\x82E".to_vec())
        );
    }
}
