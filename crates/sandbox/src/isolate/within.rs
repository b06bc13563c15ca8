//! Whether a path lies in another.
//!
//! A plan asks that some thousand times. Its paths are nearly always plain, and then their bytes tell.
//!
//! Invariant: the answer is the standard library's own, whatever the paths look like.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether `inner` is `outer` or lies beneath it.
pub(super) fn lies_in(inner: &Path, outer: &Path) -> bool {
    inner.starts_with(outer)
}

/// What is left of `inner` beneath `outer`.
pub(super) fn rest_in<'p>(inner: &'p Path, outer: &Path) -> Option<&'p Path> {
    if !lies_in(inner, outer) {
        return None;
    }
    let (own, above) = (inner.as_os_str().as_bytes(), outer.as_os_str().as_bytes());
    match own.strip_prefix(above) {
        Some([]) if above.len() > 1 => Some(Path::new("")),
        Some([b'/', rest @ ..]) if !above.is_empty() && is_plain(rest) => {
            Some(Path::new(OsStr::from_bytes(rest)))
        }
        _ => inner.strip_prefix(outer).ok(),
    }
}

/// Names with one slash between them, none of which begins with a dot.
fn is_plain(rest: &[u8]) -> bool {
    let mut before = b'/';
    for byte in rest {
        if before == b'/' && matches!(byte, b'/' | b'.') {
            return false;
        }
        before = *byte;
    }
    before != b'/'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_standard_librarys() {
        let paths = [
            "/", "/a", "/a/", "//a", "/./a", "/a/b", "/a//b", "/a/./b", "/ab", "/b", "/../a", "/.a", "a",
            "a/b", "", ".", "/b/a", "/a/.", "/a/b/c", "/a/b/.c", "/a/b/c/", "/a/b//c", "./a", "..", "/a/..",
            "/a/bc",
        ];
        for inner in paths.map(Path::new) {
            for outer in paths.map(Path::new) {
                assert_eq!(lies_in(inner, outer), inner.starts_with(outer), "{inner:?} in {outer:?}");
                assert_eq!(rest_in(inner, outer), inner.strip_prefix(outer).ok(), "{inner:?} in {outer:?}");
            }
        }
    }
}
