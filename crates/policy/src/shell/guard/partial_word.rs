//! A partially known word: literal characters, pattern characters, and gaps.
//!
//! It is one string. What is not literal is a mark, a character of the last private-use plane, so
//! that splitting, prefixes and rules work on it as on any text. A command that contains such
//! characters itself is refused. A word without marks is exactly the argument that the program
//! gets.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// A gap that can be any text: none, or several arguments, too.
pub(super) const ANYTHING: char = '\u{10FF00}';
/// A gap that is one plain name or number: no slash, not `.` and not `..`.
pub(super) const NAME: char = '\u{10FF01}';
/// A gap that is a path beneath the working directory, as in a listing.
pub(super) const INSIDE: char = '\u{10FF02}';
/// An active `*`.
pub(super) const STAR: char = '\u{10FF03}';
/// An active `?`.
pub(super) const ONE: char = '\u{10FF04}';
/// The `[` of an active character class.
pub(super) const CLASS: char = '\u{10FF05}';
/// A gap that is something from the network.
pub(super) const DOWNLOADED: char = '\u{10FF06}';
/// The first byte of every mark in UTF-8; no other plane has it.
pub(super) const MARK_BYTE: u8 = 0xF4;

/// One argument, value or output.
///
/// A copy shares its text: a value of many kilobytes may be in many variables.
#[derive(Clone)]
pub(super) struct PartialWord(Text);

#[derive(Clone)]
enum Text {
    Fixed(&'static str),
    Shared(Rc<str>),
}

impl PartialWord {
    /// Known text.
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self(Text::Shared(text.into()))
    }

    /// Static text, without an allocation.
    pub(super) const fn fixed(text: &'static str) -> Self {
        Self(Text::Fixed(text))
    }

    /// One gap.
    pub(super) const fn gap(mark: char) -> Self {
        Self::fixed(match mark {
            NAME => "\u{10FF01}",
            INSIDE => "\u{10FF02}",
            STAR => "\u{10FF03}",
            ONE => "\u{10FF04}",
            CLASS => "\u{10FF05}",
            DOWNLOADED => "\u{10FF06}",
            _ => "\u{10FF00}",
        })
    }

    /// The text with its marks.
    pub(super) fn as_str(&self) -> &str {
        match &self.0 {
            Text::Fixed(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// The exact text, if all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        Some(self.as_str()).filter(|text| !is_marked(text))
    }

    /// Whether it can be any text.
    pub(super) fn is_open(&self) -> bool {
        self.as_str().contains([ANYTHING, DOWNLOADED])
    }
}

impl Default for PartialWord {
    fn default() -> Self {
        Self::fixed("")
    }
}

impl PartialEq for PartialWord {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.as_str(), other.as_str());
        std::ptr::eq(ours, theirs) || ours == theirs
    }
}

impl Eq for PartialWord {}

impl PartialOrd for PartialWord {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartialWord {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for PartialWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&render_marks(self.as_str()), f)
    }
}

impl fmt::Display for PartialWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render_marks(self.as_str()))
    }
}

/// Whether a text contains a mark.
pub(super) fn is_marked(text: &str) -> bool {
    text.as_bytes().contains(&MARK_BYTE)
}

/// A text for output: pattern characters as written, gaps as `…`.
pub(super) fn render_marks(text: &str) -> String {
    if !is_marked(text) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            ANYTHING | NAME | INSIDE | DOWNLOADED => '…',
            STAR => '*',
            ONE => '?',
            CLASS => '[',
            other => other,
        })
        .collect()
}

/// The result of an unquoted expansion of known text: pattern characters become active.
pub(super) fn activate_globs(text: &str) -> String {
    if !text.contains(['*', '?', '[']) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '*' => STAR,
            '?' => ONE,
            '[' => CLASS,
            other => other,
        })
        .collect()
}
