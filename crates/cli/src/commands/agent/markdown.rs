//! Markdown of an answer as it streams: headings, bold text and code get a style, bullets a dot,
//! and lines are broken between words, but for code blocks. What is not recognised stays as it is.

use super::word_wrap::WordWrap;

/// Bold on and off, code on and off.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[22m"];
const CODE: [&str; 2] = ["\x1b[36m", "\x1b[39m"];

/// Styles an answer piece by piece. The text is printable already; only our own sequences are
/// added.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    out: WordWrap,
    /// Characters that may be the beginning of a mark.
    held: String,
    /// The line so far has only blanks.
    in_line: bool,
    heading: bool,
    bold: bool,
    code: bool,
    /// Within a fenced block, or on the line that opens or closes it.
    fence: bool,
    fence_line: bool,
}

impl Markdown {
    /// The styled text of the next piece on a screen with `width` columns (0: lines stay as they
    /// are); a mark or a word that is not whole yet is held back.
    pub(super) fn next(&mut self, piece: &str, width: usize) -> String {
        self.out.width = width;
        self.held.push_str(piece);
        while let Some(taken) = self.step(Input::More) {
            self.held.drain(..taken);
        }
        self.out.take()
    }

    /// The rest, with every style ended.
    pub(super) fn end(&mut self) -> String {
        while let Some(taken) = self.step(Input::End) {
            self.held.drain(..taken);
        }
        self.end_line();
        if self.fence {
            self.out.push_style(CODE[1]);
        }
        self.out.end_word();
        std::mem::take(self).out.take()
    }

    /// Takes one mark or one character; `None` when more input is needed.
    fn step(&mut self, input: Input) -> Option<usize> {
        let first = self.held.chars().next()?;
        if first == '\n' {
            self.end_line();
            self.out.push('\n');
            return Some(1);
        }
        if !self.in_line && !self.fence_line {
            match self.line_start(input) {
                LineStart::Wait => return None,
                LineStart::Taken(count) => return Some(count),
                LineStart::Plain => {}
            }
        }
        if self.fence || self.fence_line {
            self.out.push_unbroken(first);
            return Some(first.len_utf8());
        }
        match first {
            '*' if !self.code => match self.held.as_bytes().get(1) {
                None if input == Input::More => None,
                Some(b'*') => {
                    self.bold = !self.bold;
                    self.out.push_style(BOLD[usize::from(!self.bold)]);
                    Some(2)
                }
                _ => {
                    self.out.push('*');
                    Some(1)
                }
            },
            '`' => {
                self.code = !self.code;
                self.out.push_style(CODE[usize::from(!self.code)]);
                Some(1)
            }
            other => {
                self.out.push(other);
                Some(other.len_utf8())
            }
        }
    }

    /// A fence, a heading or a bullet at the beginning of a line.
    fn line_start(&mut self, input: Input) -> LineStart {
        let rest = self.held.trim_start_matches(' ');
        let blanks = self.held.len() - rest.len();
        let is_whole = rest.len() > 6 || rest.contains('\n') || input == Input::End;
        let may_begin = |mark: &str| mark.starts_with(rest) || rest.starts_with(mark);
        if !is_whole && ["```", "# ", "## ", "### ", "#### ", "- ", "* "].iter().any(|mark| may_begin(mark)) {
            let is_known =
                ["```", "# ", "## ", "### ", "#### ", "- ", "* "].iter().any(|mark| rest.starts_with(mark));
            if !is_known {
                return LineStart::Wait;
            }
        }
        self.in_line = true;
        if rest.starts_with("```") {
            self.fence_line = true;
            (0..blanks).for_each(|_| self.out.push_unbroken(' '));
            self.out.push_style(CODE[0]);
            return LineStart::Taken(blanks);
        }
        if self.fence {
            return LineStart::Plain;
        }
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if (1..=4).contains(&hashes) && rest[hashes..].starts_with(' ') {
            self.heading = true;
            self.out.push_style(BOLD[0]);
            return LineStart::Taken(blanks + hashes + 1);
        }
        if rest.starts_with("- ") || rest.starts_with("* ") {
            let bullet = "\u{2022} ".chars();
            std::iter::repeat_n(' ', blanks).chain(bullet).for_each(|c| self.out.push(c));
            self.out.indent_here();
            return LineStart::Taken(blanks + 2);
        }
        LineStart::Plain
    }

    /// Ends the styles of a line; bold text and code do not go over lines.
    fn end_line(&mut self) {
        if self.heading || self.bold {
            self.out.push_style(BOLD[1]);
        }
        if self.fence_line {
            self.fence = !self.fence;
        }
        if self.code || (self.fence_line && !self.fence) {
            self.out.push_style(CODE[1]);
        }
        (self.in_line, self.heading, self.bold, self.code, self.fence_line) =
            (false, false, false, false, false);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Input {
    More,
    End,
}

enum LineStart {
    /// More input decides.
    Wait,
    /// So many bytes were a mark.
    Taken(usize),
    /// Text.
    Plain,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn styled(text: &str) -> String {
        let mut markdown = Markdown::default();
        let shown = markdown.next(text, 0);
        shown + &markdown.end()
    }

    /// Without the sequences, on a screen with so many columns.
    fn broken(text: &str, width: usize) -> String {
        let mut markdown = Markdown::default();
        let shown = markdown.next(text, width);
        plain(&(shown + &markdown.end()))
    }

    /// Without the sequences.
    fn plain(text: &str) -> String {
        [BOLD, CODE].concat().iter().fold(text.to_owned(), |text, code| text.replace(code, ""))
    }

    #[test]
    fn marks_become_styles() {
        for (why, text, want) in [
            ("plain text", "a b * c\n", "a b * c\n"),
            ("a heading", "# One\ntwo", "\x1b[1mOne\x1b[22m\ntwo"),
            ("no heading", "#tag", "#tag"),
            ("bold", "a **b** c", "a \x1b[1mb\x1b[22m c"),
            ("code", "a `b*` c", "a \x1b[36mb*\x1b[39m c"),
            ("bullets", "- a\n  * b", "\u{2022} a\n  \u{2022} b"),
            ("what is open ends with its line", "a **b\nc", "a \x1b[1mb\x1b[22m\nc"),
            ("a fence", "```sh\n**x**\n```\ny", "\x1b[36m```sh\n**x**\n\x1b[36m```\x1b[39m\ny"),
        ] {
            assert_eq!(styled(text), want, "{why}");
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        for (why, text, want) in [
            ("words", "one two three four", "one two \nthree four"),
            ("a word that fits exactly", "one two 10", "one two 10"),
            ("a blank that has no room", "0123456789 next", "0123456789\nnext"),
            ("a word that is too long", "a 0123456789012 b", "a \n0123456789\n012 b"),
            ("styles have no width", "**one** `two` 10", "one two 10"),
            ("a bullet", "- one two three", "\u{2022} one two \n  three"),
            (
                "wide characters",
                "\u{6f22}\u{5b57} \u{6f22}\u{5b57} x",
                "\u{6f22}\u{5b57} \u{6f22}\u{5b57} \nx",
            ),
            ("code blocks stay", "```\none two three\n```", "```\none two three\n```"),
        ] {
            assert_eq!(broken(text, 10), want, "{why}");
        }
    }

    proptest! {
        #[test]
        fn no_line_of_short_words_is_longer_than_the_screen(text in "no fence: ([a-c*`]{1,6} ){0,20}", width in 8usize..20) {
            let shown = broken(&text, width);
            prop_assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
            let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&text));
        }

        #[test]
        fn no_text_is_lost_and_pieces_make_no_difference(text in "[-a#*`\n ]{0,40}", cut in 0usize..40) {
            let cut = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
            let mut markdown = Markdown::default();
            let pieces = markdown.next(&text[..cut], 0) + &markdown.next(&text[cut..], 0) + &markdown.end();
            prop_assert_eq!(&pieces, &styled(&text));
            let letters = |text: &str| text.chars().filter(|c| *c == 'a' || *c == '\n').collect::<String>();
            prop_assert_eq!(letters(&plain(&pieces)), letters(&text));
        }
    }
}
