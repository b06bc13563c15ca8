//! Faults: what is wrong with a configuration, where, and what to do about it.
//!
//! Invariant: no fault carries the value of a secret, and no text of one can move a terminal's cursor.

use std::fmt;

/// Why a configuration cannot be used: everything that was found, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(.faults))]
pub struct ConfigError {
    /// At least one.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands.
    pub place: SourceLocation,
    /// The key it concerns; empty when it concerns none.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
    /// What to do about it.
    pub hint: String,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLocation {
    /// In a file.
    File {
        /// The file.
        file: String,
        /// Counted from one.
        line: usize,
        /// Counted from one, in characters.
        column: usize,
    },
    /// In a variable of the environment.
    Variable(String),
    /// Nowhere that a person wrote: a built-in default.
    Default,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{}:{line}:{column}", printable(file)),
            Self::Variable(name) => f.write_str(&printable(name)),
            Self::Default => f.write_str("built-in defaults"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match &self.problem {
            Problem::UnknownKey => write!(f, "unknown key `{}`", printable(&self.key))?,
            problem if self.key.is_empty() => f.write_str(&printable(&problem.to_string()))?,
            problem => write!(f, "`{}`: {}", printable(&self.key), printable(&problem.to_string()))?,
        }
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\nhint: {}", printable(&self.hint)) }
    }
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nobody reads this key.
    #[error("unknown key")]
    UnknownKey,
    /// A key stands twice in one object.
    #[error("the key stands here a second time, with another value")]
    DuplicateKey,
    /// Two spellings of one key say different things.
    #[error("`{other}` says the same in another spelling")]
    TwoSpellings {
        /// The other spelling.
        other: String,
    },
    /// A value of the wrong kind.
    #[error("expected {wanted}, found {found}")]
    WrongKind {
        /// What the key takes.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// A number that is too small or too large.
    #[error("must be between {least} and {most}")]
    OutOfRange {
        /// The smallest that is taken.
        least: String,
        /// The largest that is taken.
        most: String,
    },
    /// A word that is none of those the key knows.
    #[error("`{found}` is none of {}", words(.known))]
    NotOneOf {
        /// What stands there.
        found: String,
        /// What the key knows.
        known: Vec<String>,
    },
    /// A key that must be there is not.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// Something a rule of its own refuses.
    #[error("{0}")]
    Refused(String),
    /// A pattern that does not compile.
    #[error("not a regular expression: {0}")]
    BadPattern(String),
    /// A control character where none belongs.
    #[error("a control character (U+{code:04X}) stands in {what}")]
    ControlCharacter {
        /// The character.
        code: u32,
        /// Where it does not belong.
        what: &'static str,
    },
    /// A backslash before a character that JSON gives no meaning to.
    #[error("`\\{escape}` is not an escape that JSON defines")]
    UndefinedEscape {
        /// The character.
        escape: String,
    },
    /// A broken `\u` escape.
    #[error("`\\u` is not followed by a character's number")]
    BadUnicode,
    /// A control character written into a string as it is.
    #[error("a raw control character (U+{byte:04X}) stands in a string")]
    RawControl {
        /// The character.
        byte: u8,
    },
    /// A string that does not end.
    #[error("the string that begins here does not end on its line")]
    OpenString,
    /// A comment that does not end.
    #[error("the comment that begins here does not end")]
    OpenComment,
    /// The text ends too soon.
    #[error("the text ends in the middle of a value")]
    EndOfText,
    /// More than one value.
    #[error("text follows the end of the document")]
    TextAfterEnd,
    /// Nested too deep.
    #[error("nested more than {most} levels deep")]
    TooDeep {
        /// How deep is allowed.
        most: usize,
    },
    /// A word that is neither `true` nor `false` nor `null`.
    #[error("a word without quotes is not a value")]
    BareWord,
    /// Digits that make no number.
    #[error("not a number as JSON spells it")]
    BadNumber,
    /// A character that cannot stand here.
    #[error("expected {wanted}, found `{found}`")]
    Unexpected {
        /// The character.
        found: char,
        /// What could stand here.
        wanted: &'static str,
    },
}

/// `text` with whatever could move a cursor or turn a line around spelled out, and cut to a readable length.
pub(crate) fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            shown.push('…');
            break;
        }
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || turns {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

fn words(known: &[String]) -> String {
    known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
