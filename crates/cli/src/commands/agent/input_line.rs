//! A line of input that is edited key by key. It contains no control characters.

use super::key_decoder::Key;
use crate::style::Style;
use picoclaw_sandbox::printable;
use unicode_width::UnicodeWidthChar;

/// Maximum length of a line.
const MAX_LINE_LEN: usize = 64 << 10;

/// The line.
#[derive(Debug, Default)]
pub(super) struct InputLine(String);

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changed.
    Changed,
    /// Finished, with this text.
    Done(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

impl InputLine {
    /// Applies a key.
    pub(super) fn press(&mut self, key: Key) -> Effect {
        match key {
            Key::Char(c) if self.0.len() < MAX_LINE_LEN => self.0.push(c),
            Key::Char(_) => {}
            Key::Backspace => {
                self.0.pop();
            }
            Key::Clear => self.0.clear(),
            Key::Word => {
                let kept = self.0.trim_end().trim_end_matches(|c: char| !c.is_whitespace()).len();
                self.0.truncate(kept);
            }
            Key::Enter => return Effect::Done(std::mem::take(&mut self.0)),
            Key::Interrupt => return Effect::Interrupt,
            Key::Suspend => return Effect::Suspend,
        }
        Effect::Changed
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// The end of the line, as much as fits into `width` columns.
    pub(super) fn tail(&self, width: usize, style: &Style) -> String {
        let shown = printable(&self.0);
        let mut taken = 0;
        let kept = shown.chars().rev().take_while(|c| {
            taken += c.width().unwrap_or(0);
            taken <= width
        });
        let start = shown.chars().count() - kept.count();
        let tail: String = shown.chars().skip(start).collect();
        style.fit(&tail, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Liveness;

    #[test]
    fn keys_change_the_line_as_they_do_in_a_shell() {
        let mut typed = InputLine::default();
        let mut press = |keys: &str| {
            for c in keys.chars() {
                let key = match c {
                    '<' => Key::Backspace,
                    '^' => Key::Word,
                    '!' => Key::Clear,
                    other => Key::Char(other),
                };
                assert_eq!(typed.press(key), Effect::Changed);
            }
            typed.text().to_owned()
        };
        for (why, keys, want) in [
            ("letters", "stop it", "stop it"),
            ("one goes", "<", "stop i"),
            ("a word goes", "^", "stop "),
            ("all go", "!", ""),
            ("nothing is left to go", "<^", ""),
            ("and on", "wait", "wait"),
        ] {
            assert_eq!(press(keys), want, "{why}");
        }
        assert_eq!(typed.press(Key::Enter), Effect::Done("wait".to_owned()));
        assert_eq!(typed.text(), "", "the next line is empty");
    }

    #[test]
    fn the_end_of_a_long_line_is_what_is_seen() {
        let style = Style::of_environment(|_| None, Liveness::Still);
        let mut typed = InputLine::default();
        for c in "one two\nthree".chars() {
            typed.press(Key::Char(c));
        }
        assert_eq!(typed.tail(80, &style), "one two\\nthree");
        assert_eq!(typed.tail(5, &style), "three");
    }
}
