//! Strips control characters from untrusted text before a terminal shows it.
//!
//! A file name or a command may carry escape sequences that repaint the screen, bidirectional overrides that
//! show `exe.txt` for `txt.exe`, or characters that show nothing at all. All of them come out as escapes.
//!
//! Invariant: what comes out moves no cursor, sets no colour, hides nothing and reorders nothing.

use serde::Serialize;
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::io::{self, Write};

/// `text` on one line, with everything a terminal would act on written out (`\n`, `\u{1b}`).
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, is_unprintable)
}

/// The same for text of several lines: line feeds and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_unprintable(c) && c != '\n' && c != '\t')
}

fn escape(text: &str, unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Nearly every text is plain; it is not looked at character by character.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.contains(&unfit) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unfit(c) {
            // Never `escape_debug`: it would also touch quotes and backslashes, which are plain text here.
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ => out.extend(c.escape_unicode()),
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// `value` as compact JSON that is also fit for a terminal.
pub fn printable_json(value: &impl Serialize) -> io::Result<String> {
    let mut out = Vec::new();
    write_json(&mut out, value)?;
    String::from_utf8(out).map_err(io::Error::other)
}

/// Adds `value` to `out`, as [`printable_json`] spells it.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Harmless)).map_err(Into::into)
}

/// Compact JSON in which characters that a terminal acts on are escapes, beyond what JSON itself asks for.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // Nearly every text is plain; it is not looked at character by character.
        if fragment.bytes().all(|b| b.is_ascii() && b != 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unprintable) {
            let (fit, unfit) = rest.split_at(at);
            out.write_all(fit.as_bytes())?;
            let mut chars = unfit.chars();
            if let Some(c) = chars.next() {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Whether a terminal would act on `c`, or a reader would not see it.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{00ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // invisible
            | '\u{fff9}'..='\u{fffb}' // interlinear annotation
            | '\u{e0000}'..='\u{e007f}') // tags: a second text that nobody sees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        for (why, text, want) in [
            ("plain text stays", "notes.md", "notes.md"),
            ("other scripts stay", "naïve 笔记 😀", "naïve 笔记 😀"),
            ("joined emoji stay whole", "👩‍💻", "👩‍💻"),
            ("quotes and backslashes are text", r#"a\"b'"#, r#"a\"b'"#),
            ("a new line would forge a second entry", "a\nb", "a\\nb"),
            ("a carriage return would overwrite the line", "a\rb\t", "a\\rb\\t"),
            ("an escape sequence", "\u{1b}[31mred", "\\u{1b}[31mred"),
            ("the one-character form of the same", "\u{9b}31m", "\\u{9b}31m"),
            ("NUL and DEL", "\0\u{7f}", "\\u{0}\\u{7f}"),
            ("a bidirectional override", "a\u{202e}txt.exe", "a\\u{202e}txt.exe"),
            ("an isolate", "\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("a space nobody sees", "a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("hidden tag characters", "a\u{e0041}", "a\\u{e0041}"),
        ] {
            assert_eq!(printable(text), want, "{why}");
        }
    }

    #[test]
    fn several_lines_keep_their_line_feeds_and_nothing_else() {
        assert_eq!(printable_lines("a\n\tb\u{1b}[2J\r\n"), "a\n\tb\\u{1b}[2J\\r\n");
    }

    #[test]
    fn fit_text_is_not_copied() {
        assert!(matches!(printable("as it is"), Cow::Borrowed(_)));
    }

    proptest::proptest! {
        #[test]
        fn json_is_fit_and_means_the_same(text in "\\PC*|[\\x00-\\u{ff}]*|.*") {
            let json = printable_json(&text).unwrap();
            proptest::prop_assert!(!json.contains(is_unprintable));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn nothing_unprintable_is_left(text in "\\PC*|[\\x00-\\u{ff}]*|.*") {
            proptest::prop_assert!(!printable(&text).contains(is_unprintable));
        }
    }
}
