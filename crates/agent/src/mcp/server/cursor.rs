//! Pages of a listing: where the next one begins, in a form that nobody is meant to read.
//!
//! Invariant: a cursor that was not handed out for this listing is an error, never a guess.

use sha2::{Digest, Sha256};

/// How many tools a page has: more than there are, since many clients read the first page alone.
pub(super) const PAGE: usize = 64;

/// The cursor for what begins at `offset` of a listing with these names.
pub(super) fn write(names: &[&str], offset: usize) -> String {
    format!("{offset:x}.{}", mark(names, offset))
}

/// Where a cursor points in a listing with these names.
pub(super) fn read(names: &[&str], cursor: &str) -> Option<usize> {
    let (offset, _) = cursor.split_once('.')?;
    let offset = usize::from_str_radix(offset, 16).ok()?;
    (offset < names.len() && cursor == write(names, offset)).then_some(offset)
}

/// Binds a cursor to its listing: in a changed listing the same number means something else.
fn mark(names: &[&str], offset: usize) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
    }
    hash.update((offset as u64).to_le_bytes());
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_means_its_own_listing_or_nothing() {
        let (names, others) = (["a", "b", "c"], ["a", "b", "d"]);
        let second = write(&names, 2);
        for (why, cursor, want) in [
            ("as it was handed out", second.as_str(), Some(2)),
            ("of another listing", &write(&others, 2), None),
            ("beyond the end", &write(&names, 3), None),
            ("another number with the same mark", &second.replacen('2', "1", 1), None),
            ("written otherwise", &format!("0{second}"), None),
            ("no cursor at all", "2", None),
            ("nothing", "", None),
        ] {
            assert_eq!(read(&names, cursor), want, "{why}: `{cursor}`");
        }
    }
}
