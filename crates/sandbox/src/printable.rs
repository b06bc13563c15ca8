//! Makes untrusted text safe to print on a terminal.
//!
//! A file name or a command may contain escape sequences that repaint the screen, bidirectional
//! overrides that show `exe.txt` for `txt.exe`, or invisible characters. All of them are escaped.

use serde::Serialize;
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// `text` on one line, with everything a terminal would act on written out (`\n`, `\u{1b}`).
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, is_unprintable)
}

/// A path as [`printable`] text. Messages show paths by this, since a name may contain a line feed
/// and so forge a line of a message.
pub fn printable_path(path: impl AsRef<Path>) -> String {
    printable(&path.as_ref().to_string_lossy()).into_owned()
}

/// The first `max` characters of `text`.
pub fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// The first `max` characters of `text`, and `…` if there are more.
pub fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    let start = first_chars(text, max);
    if start.len() < text.len() { Cow::Owned(format!("{start}…")) } else { Cow::Borrowed(text) }
}

/// `text` as one word of a shell, between backticks of a message: in single quotes unless it needs
/// none. What cannot be printed is written out, so it stands for another word then.
pub fn shell_word(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", escape(text, |c| is_unprintable(c) || c == '`').replace('\'', "'\\''"))
}

/// [`printable`] for text of several lines: line feeds and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_unprintable(c) && c != '\n' && c != '\t')
}

fn escape(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            // Never `escape_debug`: it would also touch quotes and backslashes, which are plain
            // text here.
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

/// `text` on one line for a question to a person: nothing in it is invisible, looks like a space or
/// like an ASCII character, or piles up on its neighbour; a long run of spaces is counted.
pub fn unambiguous(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut marks, mut in_ascii_word) = (0, false);
    while let Some(c) = chars.next() {
        marks = if is_combining(c) { marks + 1 } else { 0 };
        if c == ' ' {
            let mut count = 1;
            while chars.next_if_eq(&' ').is_some() {
                count += 1;
            }
            if count > MAX_SPACES {
                out.push_str(&format!("[{count} spaces]"));
            } else {
                out.extend(std::iter::repeat_n(' ', count));
            }
            in_ascii_word = false;
            continue;
        }
        let next_is_ascii = chars.peek().is_some_and(char::is_ascii_alphanumeric);
        let is_disguised = has_ascii_twins(c) && (in_ascii_word || next_is_ascii);
        if marks > MAX_MARKS || is_disguised || is_ambiguous(c) {
            out.push_str(&escape(&c.to_string(), |_| true));
        } else {
            out.push(c);
        }
        in_ascii_word = c.is_ascii_alphanumeric() || in_ascii_word && has_ascii_twins(c);
    }
    out
}

/// Spaces in a row that are shown as they are.
const MAX_SPACES: usize = 16;

/// Combining marks on one character.
const MAX_MARKS: usize = 2;

/// Whether a person could take `c` for a space, for nothing, or for an ASCII character.
fn is_ambiguous(c: char) -> bool {
    is_unprintable(c)
        || c.is_whitespace() && c != ' '
        || matches!(c,
            '\u{034f}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // no glyph
            | '\u{02b0}'..='\u{02ff}' | '\u{2000}'..='\u{206f}' | '\u{2212}' | '\u{2215}' | '\u{2216}' | '\u{2223}' // punctuation
            | '\u{29f5}' | '\u{29f8}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ffef}' // wide and small forms
            | '\u{1d400}'..='\u{1d7ff}' // mathematical letters
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}') // private use
}

/// Letters of scripts that share shapes with ASCII. Beside ASCII letters they are a disguise.
fn has_ascii_twins(c: char) -> bool {
    matches!(c, '\u{0370}'..='\u{058f}' | '\u{13a0}'..='\u{13ff}' | '\u{2100}'..='\u{214f}' | '\u{ab70}'..='\u{abbf}' | '\u{a4d0}'..='\u{a4ff}')
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05bd}' | '\u{064b}'..='\u{065f}'
        | '\u{0e31}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// `value` as compact JSON that is also safe to print.
pub fn printable_json(value: &impl Serialize) -> io::Result<String> {
    let mut out = Vec::new();
    write_json(&mut out, value)?;
    String::from_utf8(out).map_err(io::Error::other)
}

/// Adds `value` to `out`, as [`printable_json`] spells it.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, PrintableFormatter)).map_err(Into::into)
}

/// Compact JSON in which characters that a terminal acts on are escaped, beyond what JSON requires.
struct PrintableFormatter;

impl Formatter for PrintableFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unprintable) {
            let (safe, tail) = rest.split_at(at);
            out.write_all(safe.as_bytes())?;
            let mut chars = tail.chars();
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

/// Whether a terminal would act on `c`, or a reader could not see it.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{00ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // invisible
            | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' // letters and patterns without ink
            | '\u{fff9}'..='\u{fffb}' // interlinear annotation
            | '\u{e0000}'..='\u{e007f}') // tags: a second, invisible text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_escaped() {
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
            ("an invisible space", "a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("hidden tag characters", "a\u{e0041}", "a\\u{e0041}"),
        ] {
            assert_eq!(printable(text), want, "{why}");
        }
    }

    #[test]
    fn a_question_has_no_second_reading() {
        for (why, text, want) in [
            ("plain text stays", r#"rm -rf "data" | tee x"#, r#"rm -rf "data" | tee x"#),
            ("other scripts stay", "echo naïve 笔记 привет", "echo naïve 笔记 привет"),
            ("a few spaces stay", "a    b", "a    b"),
            ("a flood of spaces is counted", &format!("a{}b", " ".repeat(30_000)), "a[30000 spaces]b"),
            ("a filler", "a\u{3164}b", "a\\u{3164}b"),
            ("an empty pattern", "a\u{2800}b", "a\\u{2800}b"),
            ("a joiner", "a\u{200d}b", "a\\u{200d}b"),
            ("no-break space", "a\u{a0}b", "a\\u{a0}b"),
            ("ideographic space", "a\u{3000}b", "a\\u{3000}b"),
            ("an override", "a\u{202e}b", "a\\u{202e}b"),
            ("a Cyrillic letter in a Latin word", "c\u{430}t", "c\\u{430}t"),
            ("at its beginning", "\u{441}at", "\\u{441}at"),
            ("a wide solidus", "\u{ff0f}etc", "\\u{ff0f}etc"),
            ("a fraction slash", "\u{2215}etc", "\\u{2215}etc"),
            ("a minus that is none", "\u{2212}rf", "\\u{2212}rf"),
            ("two marks stay", "e\u{301}\u{302}", "e\u{301}\u{302}"),
            ("more do not", "e\u{301}\u{301}\u{301}", "e\u{301}\u{301}\\u{301}"),
            ("a line end", "a\nb\r\t", "a\\nb\\r\\t"),
        ] {
            assert_eq!(unambiguous(text), want, "{why}");
        }
    }

    #[test]
    fn several_lines_keep_their_line_feeds_and_nothing_else() {
        assert_eq!(printable_lines("a\n\tb\u{1b}[2J\r\n"), "a\n\tb\\u{1b}[2J\\r\n");
    }

    #[test]
    fn a_word_of_a_shell_is_one_and_ends_no_code_of_a_message() {
        for (text, want) in [
            ("-y", "-y"),
            ("/srv/a-b_c.d", "/srv/a-b_c.d"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(id)/.envrc", "'$(id)/.envrc'"),
            ("a; id #", "'a; id #'"),
            ("~root/.envrc", "'~root/.envrc'"),
            ("x` (new), `y", r"'x\u{60} (new), \u{60}y'"),
            ("a\nb", r"'a\nb'"),
        ] {
            assert_eq!(shell_word(text), want);
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        for (text, max, start, short) in [
            ("naïve", 5, "naïve", "naïve"),
            ("naïve", 3, "naï", "naï…"),
            ("naïve", 0, "", "…"),
            ("", 0, "", ""),
        ] {
            assert_eq!(first_chars(text, max), start);
            assert_eq!(shortened(text, max), short);
        }
    }

    #[test]
    fn safe_text_is_not_copied() {
        assert!(matches!(printable("as it is"), Cow::Borrowed(_)));
    }

    proptest::proptest! {
        #[test]
        fn json_is_safe_and_means_the_same(text in "\\PC*|[\\x00-\\u{ff}]*|.*") {
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
