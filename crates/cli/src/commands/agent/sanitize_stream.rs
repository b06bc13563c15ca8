//! Escapes control characters in streamed text.
//!
//! Every control character is escaped by itself, so that no later piece can complete a sequence.
//! Only CR LF is held back at a cut, and becomes a line break. The result does not depend on where
//! the text is cut.

use picoclaw_sandbox::printable_lines;

/// The state of one stream.
#[derive(Debug, Default)]
pub(super) struct StreamSanitizer {
    holds_return: bool,
}

impl StreamSanitizer {
    /// The next piece, escaped.
    pub(super) fn next(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len() + 1);
        if std::mem::take(&mut self.holds_return) {
            text.push('\r');
        }
        text.push_str(piece);
        if text.ends_with('\r') {
            text.pop();
            self.holds_return = true;
        }
        sanitize(&text)
    }

    /// What was held back.
    pub(super) fn end(&mut self) -> String {
        if std::mem::take(&mut self.holds_return) { sanitize("\r") } else { String::new() }
    }
}

/// A whole text of several lines, escaped.
pub(super) fn sanitize(text: &str) -> String {
    printable_lines(&text.replace("\r\n", "\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_changes_nothing() {
        for text in [
            "plain\nlines\n",
            "dos\r\nlines\r\n",
            "over\rwritten",
            "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J",
            "a\u{202e}b\u{2066}c",
            "\r\r\n\r",
        ] {
            let whole = sanitize(text);
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let (first, second) = text.split_at(at);
                let mut sanitizer = StreamSanitizer::default();
                let pieces = sanitizer.next(first) + &sanitizer.next(second) + &sanitizer.end();
                assert_eq!(pieces, whole, "{text:?} cut at {at}");
            }
            assert!(!whole.contains(['\u{1b}', '\r', '\u{7}', '\u{9b}', '\u{202e}']), "{whole:?}");
        }
    }
}
