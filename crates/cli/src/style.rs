//! The style of output on this terminal: colour, glyphs, width. Colour never carries meaning alone.

use crate::console::{Stream, window_size};

/// The size of a terminal that does not report one.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Secondary: tool output, hints.
    Quiet,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Needs attention.
    Alert,
    /// A name.
    Strong,
}

/// The style of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
    glyphs: GlyphSet,
}

/// The set of glyphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlyphSet {
    Ascii,
    Unicode,
}

/// The glyphs before lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Done.
    Done,
    /// Refused, or failed.
    No,
    /// A question.
    Ask,
    /// The edge of quoted text.
    Edge,
    /// More than is shown.
    More,
    /// User input.
    Said,
    /// Between parts of a line.
    Dot,
}

impl Style {
    /// The style from the environment; `terminal` is the kind of the output.
    pub(crate) fn of_environment(variable: impl Fn(&str) -> Option<String>, terminal: Liveness) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let colour = terminal == Liveness::Live && set("NO_COLOR").is_none();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default();
        let is_utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        Self { colour, glyphs: if is_utf8 { GlyphSet::Unicode } else { GlyphSet::Ascii } }
    }

    /// `text` in the colour of its tone.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Quiet => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Alert => "33",
            Tone::Strong => "1",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The glyph for this terminal.
    pub(crate) fn mark(&self, mark: Mark) -> &'static str {
        let (unicode, ascii) = match mark {
            Mark::Done => ("✓", "+"),
            Mark::No => ("✗", "x"),
            Mark::Ask => ("?", "?"),
            Mark::Edge => ("│", "|"),
            Mark::More => ("…", "..."),
            Mark::Said => ("›", ">"),
            Mark::Dot => ("·", "-"),
        };
        if self.glyphs == GlyphSet::Unicode { unicode } else { ascii }
    }

    /// A frame of the spinner.
    pub(crate) fn spin(&self, step: usize) -> &'static str {
        const UNICODE: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        const ASCII: [&str; 4] = ["-", "\\", "|", "/"];
        let frames: &[&'static str] = if self.glyphs == GlyphSet::Unicode { &UNICODE } else { &ASCII };
        frames.get(step % frames.len()).copied().unwrap_or("")
    }

    /// Whether colour may be used.
    pub(crate) fn is_coloured(&self) -> bool {
        self.colour
    }

    /// `text` truncated to `width` columns, with a mark if it was.
    pub(crate) fn fit(&self, text: &str, width: usize) -> String {
        use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
        if text.width() <= width {
            return text.to_owned();
        }
        let more = self.mark(Mark::More);
        let room = width.saturating_sub(more.width());
        let mut taken = 0;
        let kept: String = text
            .chars()
            .take_while(|c| {
                taken += c.width().unwrap_or(0);
                taken <= room
            })
            .collect();
        if width < more.width() { kept } else { kept + more }
    }
}

/// Whether lines can be redrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// A terminal that supports cursor movement.
    Live,
    /// A file, a pipe, or a terminal that is `dumb`.
    Still,
}

impl Liveness {
    /// The kind of `stream`, by itself and by `TERM`.
    pub(crate) fn of(stream: impl Stream, term: Option<&str>) -> Self {
        let is_dumb = term.is_none_or(|term| term.is_empty() || term == "dumb");
        if stream.is_terminal() && !is_dumb { Self::Live } else { Self::Still }
    }
}

/// Columns and rows of a terminal.
pub(crate) fn size(stream: impl Stream) -> (usize, usize) {
    match window_size(stream) {
        Some((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
        _ => DEFAULT_SIZE,
    }
}

/// `line` in rows of at most `width` columns, broken at blanks; all but the first begin with `hang`
/// blanks. A longer word is left whole.
pub(crate) fn wrap(line: &str, width: usize, hang: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthStr;
    let width = width.max(20);
    let hang = if hang * 2 > width { 2 } else { hang };
    let mut rows = vec![String::new()];
    for (at, word) in line.split(' ').enumerate() {
        let is_first = rows.len() == 1;
        match rows.last_mut() {
            Some(row) if at == 0 || row.width() + 1 + word.width() <= width => {
                if at > 0 && (is_first || row.len() > hang) {
                    row.push(' ');
                }
                row.push_str(word);
            }
            _ => rows.push(format!("{}{word}", " ".repeat(hang))),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (why, line, hang, want) in [
            ("it fits", "one two", 0, &["one two"][..]),
            ("too long", "one two three four five", 0, &["one two three four", "five"]),
            ("with a margin", "one:  two three four five", 6, &["one:  two three four", "      five"]),
            ("a long word", "a-word-that-is-longer-than-all b", 0, &["a-word-that-is-longer-than-all", "b"]),
            ("nothing", "", 0, &[""]),
        ] {
            assert_eq!(wrap(line, 20, hang), want, "{why}");
        }
    }

    fn style(pairs: &[(&str, &str)], terminal: Liveness) -> Style {
        let find =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Style::of_environment(find, terminal)
    }

    #[test]
    fn colour_is_for_terminals_whose_owner_wants_it() {
        for (why, pairs, terminal, want) in [
            ("a terminal", &[][..], Liveness::Live, true),
            ("a pipe", &[], Liveness::Still, false),
            ("NO_COLOR says no, whatever its value is", &[("NO_COLOR", "0")], Liveness::Live, false),
            ("an empty NO_COLOR says nothing", &[("NO_COLOR", "")], Liveness::Live, true),
        ] {
            let painted = style(pairs, terminal).paint(Tone::Bad, "no");
            assert_eq!(painted.contains('\u{1b}'), want, "{why}");
            assert!(painted.contains("no"), "{why}");
        }
    }

    #[test]
    fn marks_follow_the_locale() {
        for (why, pairs, want) in [
            ("nothing said", &[][..], "x"),
            ("the plain locale", &[("LANG", "C")], "x"),
            ("UTF-8", &[("LANG", "de_DE.UTF-8")], "✗"),
            ("another spelling", &[("LANG", "C.utf8")], "✗"),
            ("the stronger variable", &[("LANG", "C.UTF-8"), ("LC_ALL", "C")], "x"),
        ] {
            assert_eq!(style(pairs, Liveness::Still).mark(Mark::No), want, "{why}");
        }
    }

    #[test]
    fn what_is_cut_says_so_and_keeps_to_the_width() {
        let style = style(&[("LANG", "C.UTF-8")], Liveness::Still);
        for (why, text, width, want) in [
            ("it fits", "abc", 3, "abc"),
            ("one column too many", "abcd", 3, "ab…"),
            ("wide characters are two columns", "日本語", 4, "日…"),
            ("nothing fits", "abc", 0, ""),
        ] {
            assert_eq!(style.fit(text, width), want, "{why}");
        }
    }
}
