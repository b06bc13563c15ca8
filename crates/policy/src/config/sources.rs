//! The texts of one load, to turn an origin into a location.

use super::document::{Lines, Origin, without_bom};
use super::fault::SourceLocation;

/// The names and texts of the sources.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The name of the configuration file.
    pub file: &'a str,
    /// Its text; `None` if there is no file.
    pub text: Option<&'a str>,
    /// The name of the secrets file.
    pub secrets: &'a str,
}

impl<'a> Sources<'a> {
    /// The lines of the configuration file.
    pub(crate) fn lines(&self) -> Lines<'a> {
        Lines::new(without_bom(self.text.unwrap_or("")))
    }

    /// The location of an origin; `lines` are those of the configuration file.
    pub(crate) fn locate(&self, origin: &Origin, lines: &Lines<'_>) -> SourceLocation {
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
