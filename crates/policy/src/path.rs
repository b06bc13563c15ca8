//! Paths as text: made absolute and clean before anybody looks anything up.
//!
//! What is checked must be what is opened, so dots are folded here, once, and only the folded form travels on
//! (W48: the original checked one spelling and opened another).
//!
//! Invariant: a [`CleanPath`] is absolute and holds no `.`, no `..`, no empty component and no NUL.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};

/// The longest path text that is looked at; the kernel's own limit (`PATH_MAX`, its NUL included).
const LONGEST: usize = 4095;

/// An absolute path without dots, folded as text.
#[derive(Debug, Clone)]
pub struct CleanPath(PathBuf);

/// Why a text names no path at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// A NUL byte ends a path for the kernel, and would hide what follows.
    #[error("path contains a NUL byte")]
    Nul,
    /// Longer than the kernel takes.
    #[error("path is longer than {LONGEST} bytes")]
    TooLong,
}

impl CleanPath {
    /// Folds `path` as text; a relative one starts at `base`. `..` at the top stays at the top.
    pub fn new(path: &Path, base: &CleanPath) -> Result<Self, PathFault> {
        check(path.as_os_str())?;
        if path.is_absolute() {
            return Self::bounded(folded(path));
        }
        if is_folded(path.as_os_str().as_encoded_bytes()) {
            return Self::bounded(base.0.join(path));
        }
        let mut folded = base.0.clone();
        fold(&mut folded, path);
        Self::bounded(folded)
    }

    /// Folds a path that is absolute already; `None` when it is not.
    pub fn absolute(path: &Path) -> Option<Self> {
        if !path.is_absolute() || check(path.as_os_str()).is_err() {
            return None;
        }
        Self::bounded(folded(path)).ok()
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// What is left of this path below `base`; `None` when it is not below.
    pub fn below(&self, base: &CleanPath) -> Option<&Path> {
        // Both are folded, so one that is below begins with the other's text; taking a path apart costs far more.
        let [own, above] = [self, base].map(CleanPath::bytes);
        if !own.starts_with(above) {
            return None;
        }
        match self.0.to_str() {
            Some(own) if own.len() == above.len() => Some(Path::new("")),
            Some(own) if own.as_bytes().get(above.len()) == Some(&b'/') && above != b"/" => {
                Some(Path::new(&own[above.len() + 1..]))
            }
            _ => self.0.strip_prefix(&base.0).ok(),
        }
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_encoded_bytes()
    }

    fn bounded(folded: PathBuf) -> Result<Self, PathFault> {
        if folded.as_os_str().len() > LONGEST {
            return Err(PathFault::TooLong);
        }
        Ok(Self(folded))
    }
}

/// Whether `inner` is `outer` or lies in it, name by name, as [`Path::starts_with`] has it.
///
/// Most paths that are compared differ in an ordinary letter, or one is the other's beginning: then their bytes tell, and
/// neither has to be taken apart.
pub fn lies_in(inner: &Path, outer: &Path) -> bool {
    let [own, above] = [inner, outer].map(|path| path.as_os_str().as_encoded_bytes());
    // Where a dot or a slash stands, there may be a name that counts for nothing.
    let is_ordinary = |byte: &u8| !matches!(byte, b'/' | b'.');
    match own.iter().zip(above).position(|(one, other)| one != other) {
        Some(at) if [own, above].iter().all(|path| path.get(at).is_some_and(is_ordinary)) => false,
        None if own.len() < above.len() && above.last().is_some_and(is_ordinary) => false,
        None if own.get(above.len()) == Some(&b'/') || own.len() == above.len() => true,
        _ => inner.starts_with(outer),
    }
}

// Two folded paths are the same where their texts are: no need to take them apart, as paths in general must be.
impl PartialEq for CleanPath {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for CleanPath {}

impl Hash for CleanPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl Ord for CleanPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for CleanPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for CleanPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

fn check(text: &OsStr) -> Result<(), PathFault> {
    let bytes = text.as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(PathFault::Nul);
    }
    // Folding shortens at most to nothing: a text many times the limit is not worth the walk.
    if bytes.len() > 16 * LONGEST {
        return Err(PathFault::TooLong);
    }
    Ok(())
}

/// An absolute path, folded; most are so already.
fn folded(path: &Path) -> PathBuf {
    let rest = path.as_os_str().as_encoded_bytes().strip_prefix(b"/");
    if cfg!(unix) && rest.is_some_and(|rest| rest.is_empty() || is_folded(rest)) {
        return path.to_owned();
    }
    let mut folded = PathBuf::from("/");
    fold(&mut folded, path);
    folded
}

/// Whether a relative path is nothing but names between single slashes.
fn is_folded(relative: &[u8]) -> bool {
    cfg!(unix) && relative.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

fn fold(folded: &mut PathBuf, path: &Path) {
    for component in path.components() {
        match component {
            Component::Normal(name) => folded.push(name),
            Component::ParentDir => {
                folded.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> CleanPath {
        CleanPath::absolute(Path::new("/ws")).unwrap()
    }

    #[test]
    fn one_path_lies_in_another_as_the_standard_library_has_it() {
        let paths = [
            "", "/", "//", ".", "..", "a", "a/b", "./a", "/a", "/a/", "//a", "/./a", "/a/.", "/a/..", "/ab",
            "/a.", "/a/b", "/a//b", "/a/./b", "/a/b/", "/a/bc", "/a/.b", "/b", "/b/a", "/../a", "/.a", "/é",
            "/é/a",
        ];
        for inner in paths.map(Path::new) {
            for outer in paths.map(Path::new) {
                assert_eq!(lies_in(inner, outer), inner.starts_with(outer), "{inner:?} in {outer:?}");
            }
        }
    }

    #[test]
    fn dots_are_folded_as_text() {
        for (why, path, want) in [
            ("relative starts at the base", "./data/config.json", "/ws/data/config.json"),
            ("nothing is the base itself", "", "/ws"),
            ("absolute stays where it is", "/etc/../etc/hosts", "/etc/hosts"),
            ("dots climb out of the base", "../x", "/x"),
            ("dots stop at the top", "../../../../x", "/x"),
            ("a link does not count: text alone", "link/../passwd", "/ws/passwd"),
            ("slashes fold", "a//b/./c/", "/ws/a/b/c"),
        ] {
            assert_eq!(
                CleanPath::new(Path::new(path), &base()).unwrap().as_path(),
                Path::new(want),
                "{why}: `{path}`"
            );
        }
    }

    #[test]
    fn what_the_kernel_would_not_take_is_no_path() {
        assert_eq!(CleanPath::new(Path::new("a\0b"), &base()), Err(PathFault::Nul));
        assert_eq!(CleanPath::new(Path::new(&"a/".repeat(10_000)), &base()), Err(PathFault::TooLong));
        assert_eq!(CleanPath::new(Path::new(&"x".repeat(5_000)), &base()), Err(PathFault::TooLong));
    }
}
