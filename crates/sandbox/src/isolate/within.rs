//! Whether a path lies in another.
//!
//! A plan asks that some thousand times, nearly always of paths that differ in their very first letter. To look there first
//! saves taking both apart.
//!
//! Invariant: the answer is the standard library's own, whatever the paths look like.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether `inner` is `outer` or lies in it.
pub(super) fn lies_in(inner: &Path, outer: &Path) -> bool {
    !are_strangers(inner, outer) && inner.starts_with(outer)
}

/// What is left of `inner` beneath `outer`.
pub(super) fn rest_in<'p>(inner: &'p Path, outer: &Path) -> Option<&'p Path> {
    if are_strangers(inner, outer) { None } else { inner.strip_prefix(outer).ok() }
}

/// Whether the first names of both begin with different letters. A dot or a slash there may stand for nothing.
fn are_strangers(one: &Path, other: &Path) -> bool {
    let first = |path: &Path| match path.as_os_str().as_bytes() {
        [b'/', first, ..] if *first != b'/' && *first != b'.' => Some(*first),
        _ => None,
    };
    matches!((first(one), first(other)), (Some(one), Some(other)) if one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_standard_librarys() {
        let paths = [
            "/", "/a", "/a/", "//a", "/./a", "/a/b", "/a//b", "/a/./b", "/ab", "/b", "/../a", "/.a", "a",
            "a/b", "", ".", "/b/a",
        ];
        for inner in paths.map(Path::new) {
            for outer in paths.map(Path::new) {
                assert_eq!(lies_in(inner, outer), inner.starts_with(outer), "{inner:?} in {outer:?}");
                assert_eq!(rest_in(inner, outer), inner.strip_prefix(outer).ok(), "{inner:?} in {outer:?}");
            }
        }
    }
}
