//! Reads a text into its tree.
//!
//! Invariant: no command that the shell would run from an accepted text is missing from the tree.

use super::{Dialect, NotUnderstood, Script, Span};

/// Reads `text` as the shell of that dialect would.
pub fn read(text: &str, _dialect: Dialect) -> Result<Script, NotUnderstood> {
    Err(NotUnderstood {
        what: "the reader is not built yet".to_owned(),
        span: Span { start: 0, end: text.len() },
    })
}
