//! How things look on this terminal: colour, marks, width.
//!
//! Invariant: without colour every word is still there; colour only helps to find it.

use rustix::termios::tcgetwinsize;
use std::os::fd::AsFd;

/// What a terminal that says nothing about its size is taken for.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Beside the point: output of tools, hints.
    Quiet,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// A person should look.
    Alert,
    /// A name.
    Strong,
}

/// The way text is written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    colour: bool,
    glyphs: GlyphSet,
}

/// The alphabet of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlyphSet {
    Ascii,
    Unicode,
}

/// The marks before lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
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
    /// What a person typed.
    Said,
    /// Between parts of a line.
    Dot,
}

impl Style {
    /// The style that the environment asks for; `terminal` is whether anybody looks.
    pub(super) fn of_environment(variable: impl Fn(&str) -> Option<String>, terminal: Liveness) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let colour = terminal == Liveness::Live && set("NO_COLOR").is_none();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default();
        let is_utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        Self { colour, glyphs: if is_utf8 { GlyphSet::Unicode } else { GlyphSet::Ascii } }
    }

    /// `text` in its tone.
    pub(super) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Quiet => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Alert => "33",
            Tone::Strong => "1",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A mark as this terminal can show it.
    pub(super) fn mark(&self, mark: Mark) -> &'static str {
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

    /// One picture of something that moves.
    pub(super) fn spin(&self, step: usize) -> &'static str {
        const UNICODE: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        const ASCII: [&str; 4] = ["-", "\\", "|", "/"];
        let pictures: &[&'static str] = if self.glyphs == GlyphSet::Unicode { &UNICODE } else { &ASCII };
        pictures.get(step % pictures.len()).copied().unwrap_or("")
    }

    /// Whether colour may be used.
    pub(super) fn is_coloured(&self) -> bool {
        self.colour
    }

    /// `text` cut to `width` columns, and a mark when something went.
    pub(super) fn fit(&self, text: &str, width: usize) -> String {
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

/// Whether lines can be drawn over on the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    /// A terminal that understands cursor movements.
    Live,
    /// A file, a pipe, or a terminal that is `dumb`.
    Still,
}

impl Liveness {
    /// What `fd` is, going by itself and by `TERM`.
    pub(super) fn of(fd: impl AsFd, term: Option<&str>) -> Self {
        let is_dumb = term.is_none_or(|term| term.is_empty() || term == "dumb");
        if rustix::termios::isatty(fd) && !is_dumb { Self::Live } else { Self::Still }
    }
}

/// Columns and rows of a terminal.
pub(super) fn size(fd: impl AsFd) -> (usize, usize) {
    match tcgetwinsize(fd) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => DEFAULT_SIZE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
