//! The texts of one load, so that an origin can be told as a place.
//!
//! Invariant: a place is looked up only when somebody is to be told.

use super::document::{Lines, Origin};
use super::fault::{Fault, Place, Problem};

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

impl Sources<'_> {
    /// Where something stands.
    pub(crate) fn place(&self, origin: &Origin) -> Place {
        match origin {
            Origin::Default => Place::Default,
            Origin::File(at) => {
                let text = super::document::without_bom(self.text.unwrap_or(""));
                let (line, column) = Lines::new(text).position(*at);
                Place::File { file: self.file.to_owned(), line, column }
            }
            Origin::Secrets { line, column } => {
                Place::File { file: self.secrets.to_owned(), line: *line, column: *column }
            }
            Origin::Variable(name) => Place::Variable(name.to_string()),
        }
    }

    /// A fault there.
    pub(crate) fn fault(
        &self,
        origin: &Origin,
        key: &str,
        problem: Problem,
        hint: impl Into<String>,
    ) -> Fault {
        Fault { place: self.place(origin), key: key.to_owned(), problem, hint: hint.into() }
    }
}
