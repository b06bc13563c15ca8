//! Front matter: the block between two lines of dashes at the beginning of a file, read as
//! `key: value` lines.

/// A text and its front matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'t> {
    /// The lines between the dashes, if there are any.
    pub(super) head: Option<&'t str>,
    /// The rest.
    pub(super) body: &'t str,
}

/// Splits a text. Dashes that are never closed are no front matter.
pub(super) fn split(text: &str) -> Split<'_> {
    let whole = text.trim_start_matches('\u{feff}');
    let none = Split { head: None, body: whole };
    let Some(rest) = whole.strip_prefix("---").and_then(after_line_end) else { return none };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Split {
                head: Some(&rest[..at]),
                body: rest[at + line.len()..].trim_start_matches(['\r', '\n']),
            };
        }
        at += line.len();
    }
    none
}

/// The value of a key on a line of its own, without its quotes.
pub(super) fn value<'t>(head: &'t str, key: &str) -> Option<&'t str> {
    head.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim();
        let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Some(bare.unwrap_or(value))
    })
}

fn after_line_end(text: &str) -> Option<&str> {
    text.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_parted_from_the_text() {
        for (why, text, head, body) in [
            ("none", "# Hello\n", None, "# Hello\n"),
            ("some", "---\nname: x\n---\n\nbody\n", Some("name: x\n"), "body\n"),
            ("with carriage returns", "---\r\nname: x\r\n---\r\nbody", Some("name: x\r\n"), "body"),
            ("never closed", "---\nname: x\n", None, "---\nname: x\n"),
            ("a rule later on is no front matter", "a\n---\nb\n---\n", None, "a\n---\nb\n---\n"),
            ("empty", "---\n---\nbody", Some(""), "body"),
        ] {
            assert_eq!(split(text), Split { head, body }, "{why}");
        }
    }

    #[test]
    fn a_value_is_one_line() {
        let head = "name: weather\ndescription: \"tells: the weather\"\nmetadata: {\"a\": 1}\nnames: no\n";
        assert_eq!(value(head, "name"), Some("weather"));
        assert_eq!(value(head, "description"), Some("tells: the weather"));
        assert_eq!(value(head, "absent"), None);
    }
}
