//! Names of files on a shelf.
//!
//! Invariant: a name is one component, and never a way up.

use super::error::ShelfError;

/// The longest name that file systems take.
const LONGEST: usize = 255;

/// Whether `name` can be a file on a shelf.
pub(super) fn check(name: &str) -> Result<(), ShelfError> {
    let fits = !name.is_empty() && name.len() <= LONGEST && !matches!(name, "." | "..");
    if fits && !name.contains(['/', '\0']) {
        Ok(())
    } else {
        Err(ShelfError::BadName { name: name.to_owned() })
    }
}
