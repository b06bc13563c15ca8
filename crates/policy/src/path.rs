//! Paths as text: made absolute and clean before anybody looks anything up.
//!
//! What is checked must be what is opened, so dots are folded here, once, and only the folded form travels on
//! (W48: the original checked one spelling and opened another).
//!
//! Invariant: a [`CleanPath`] is absolute and holds no `.`, no `..`, no empty component and no NUL.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The longest path text that is looked at; the kernel's own limit (`PATH_MAX`, its NUL included).
const LONGEST: usize = 4095;

/// An absolute path without dots, folded as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
        let mut folded = if path.is_absolute() { PathBuf::from("/") } else { base.0.clone() };
        fold(&mut folded, path);
        Self::bounded(folded)
    }

    /// Folds a path that is absolute already; `None` when it is not.
    pub fn absolute(path: &Path) -> Option<Self> {
        if !path.is_absolute() || check(path.as_os_str()).is_err() {
            return None;
        }
        let mut folded = PathBuf::from("/");
        fold(&mut folded, path);
        Self::bounded(folded).ok()
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// What is left of this path below `base`; `None` when it is not below.
    pub fn below(&self, base: &CleanPath) -> Option<&Path> {
        // Both are folded, so one that is below begins with the other's text; taking a path apart costs far more.
        let [own, above] = [self, base].map(|path| path.0.as_os_str().as_encoded_bytes());
        if !own.starts_with(above) {
            return None;
        }
        self.0.strip_prefix(&base.0).ok()
    }

    fn bounded(folded: PathBuf) -> Result<Self, PathFault> {
        if folded.as_os_str().len() > LONGEST {
            return Err(PathFault::TooLong);
        }
        Ok(Self(folded))
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
