//! Faults of a configuration: location, problem and remedy.
//!
//! No fault contains a secret, and control characters are escaped.

use std::fmt;

/// Why a configuration does not load: all faults, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", join_faults(.faults))]
pub struct ConfigError {
    /// At least one.
    pub faults: Vec<Fault>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it was found.
    pub location: SourceLocation,
    /// The key it concerns; empty if none.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
    /// What to do about it.
    pub hint: String,
}

/// A location in one of the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLocation {
    /// In a file.
    File {
        /// The file.
        file: String,
        /// Starts at one.
        line: usize,
        /// Starts at one; counts characters.
        column: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A built-in default.
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
        write!(f, "{}: ", self.location)?;
        match &self.problem {
            Problem::UnknownKey => write!(f, "unknown key `{}`", printable(&self.key))?,
            problem if self.key.is_empty() => f.write_str(&printable(&problem.to_string()))?,
            problem => write!(f, "`{}`: {}", printable(&self.key), printable(&problem.to_string()))?,
        }
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\nhint: {}", printable(&self.hint)) }
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The key is not in the schema.
    #[error("unknown key")]
    UnknownKey,
    /// The key is repeated in one object, with another value.
    #[error("the key appears a second time, with another value")]
    DuplicateKey,
    /// Two spellings of one key have different values.
    #[error("`{other}` says the same in another spelling")]
    TwoSpellings {
        /// The other spelling.
        other: String,
    },
    /// A value of the wrong type.
    #[error("expected {wanted}, found {found}")]
    WrongKind {
        /// The expected type.
        wanted: String,
        /// The actual type.
        found: String,
    },
    /// A number that is too small or too large.
    #[error("must be between {least} and {most}")]
    OutOfRange {
        /// The minimum.
        least: String,
        /// The maximum.
        most: String,
    },
    /// The value is not one of the key's words.
    #[error("`{found}` is none of {}", quote_words(.known))]
    NotOneOf {
        /// The value.
        found: String,
        /// The key's words.
        known: Vec<String>,
    },
    /// A required key is missing.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// The value violates another rule.
    #[error("{0}")]
    Refused(String),
    /// A pattern that does not compile.
    #[error("not a regular expression: {0}")]
    BadPattern(String),
    /// A control character in a value that must not have one.
    #[error("{what} contains a control character (U+{code:04X})")]
    ControlCharacter {
        /// The character.
        code: u32,
        /// What the value is.
        what: &'static str,
    },
    /// An escape that JSON does not define.
    #[error("`\\{escape}` is not an escape that JSON defines")]
    UndefinedEscape {
        /// The character after the backslash.
        escape: String,
    },
    /// A broken `\u` escape.
    #[error("`\\u` is not followed by a character's number")]
    BadUnicode,
    /// A raw control character in a string.
    #[error("a string contains a raw control character (U+{byte:04X})")]
    RawControl {
        /// The character.
        byte: u8,
    },
    /// An unterminated string.
    #[error("the string that begins here does not end on its line")]
    OpenString,
    /// An unterminated comment.
    #[error("the comment that begins here does not end")]
    OpenComment,
    /// The text ends inside a value.
    #[error("the text ends in the middle of a value")]
    EndOfText,
    /// Text after the root value.
    #[error("text follows the end of the document")]
    TextAfterEnd,
    /// Nested too deep.
    #[error("nested more than {most} levels deep")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// A word that is not `true`, `false` or `null`.
    #[error("a word without quotes is not a value")]
    BareWord,
    /// An invalid number.
    #[error("not a number as JSON spells it")]
    BadNumber,
    /// A character that the grammar does not allow here.
    #[error("expected {wanted}, found `{found}`")]
    Unexpected {
        /// The character.
        found: char,
        /// What the grammar expects.
        wanted: &'static str,
    },
}

/// `text` with control and bidirectional characters escaped, truncated to a readable length.
pub(crate) fn printable(text: &str) -> String {
    const MAX_PRINTABLE_LEN: usize = 300;
    let mut printable_text = String::with_capacity(text.len().min(MAX_PRINTABLE_LEN));
    for (count, c) in text.chars().enumerate() {
        if count == MAX_PRINTABLE_LEN {
            printable_text.push('…');
            break;
        }
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || turns {
            printable_text.extend(c.escape_unicode());
        } else {
            printable_text.push(c);
        }
    }
    printable_text
}

fn join_faults(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

fn quote_words(known: &[String]) -> String {
    known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
