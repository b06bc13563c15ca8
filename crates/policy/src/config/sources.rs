//! The texts of one load, so that an origin can be told as a place.
//!
//! Invariant: a place is looked up only when somebody is to be told.

use super::document::{Lines, Origin, without_bom};
use super::fault::SourceLocation;

/// The names and texts of what is loaded.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The configuration file, as a person would name it.
    pub file: &'a str,
    /// Its text; `None` when there is no file.
    pub text: Option<&'a str>,
    /// The secrets file, as a person would name it.
    pub secrets: &'a str,
}

impl<'a> Sources<'a> {
    /// The lines of the configuration file.
    pub(crate) fn lines(&self) -> Lines<'a> {
        Lines::new(without_bom(self.text.unwrap_or("")))
    }

    /// Where something stands; `lines` are those of the configuration file.
    pub(crate) fn place(&self, origin: &Origin, lines: &Lines<'_>) -> SourceLocation {
        match origin {
            Origin::Default => SourceLocation::Default,
            Origin::File(at) => {
                let (line, column) = lines.position(*at);
                SourceLocation::File { file: self.file.to_owned(), line, column }
            }
            Origin::Secrets { line, column } => {
                SourceLocation::File { file: self.secrets.to_owned(), line: *line, column: *column }
            }
            Origin::Variable(name) => SourceLocation::Variable(name.to_string()),
        }
    }
}
