//! Paths as text, made absolute and free of `.` and `..` before any lookup.
//!
//! What is checked must be what is opened, so dots are folded once, here, and only the folded form
//! is passed on (W48: the original checked one spelling and opened another).

use crate::windows_path::{self, WindowsPathFault};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The kernel's limit on a path, `PATH_MAX` without its NUL.
const MAX_PATH_LEN: usize = 4095;

/// An absolute path without `.`, `..`, empty components or NUL bytes.
///
/// Clean paths have one spelling each, so they are compared as bytes, not component by component;
/// on Windows without regard to case.
#[derive(Debug, Clone)]
pub struct CleanPath(PathBuf);

impl PartialEq for CleanPath {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for CleanPath {}

impl std::hash::Hash for CleanPath {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for CleanPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CleanPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// A NUL byte ends a path for the kernel, and would hide what follows.
    #[error("path contains a NUL byte")]
    Nul,
    /// Longer than the kernel accepts.
    #[error("path is longer than {MAX_PATH_LEN} bytes")]
    TooLong,
    /// A spelling that Windows gives another meaning.
    #[error(transparent)]
    Windows(#[from] WindowsPathFault),
}

/// How an absolute path begins, for people.
pub(crate) const HOW_TO_BEGIN: &str = if cfg!(windows) {
    "begin with a drive, as in `C:\\\\name`, or with `~/`; short names and streams are refused"
} else {
    "begin with `/` or `~/`"
};

impl CleanPath {
    /// Folds `path` as text, without following links. A relative path starts at `base`; `..` at the
    /// root stays at the root.
    pub fn new(path: &Path, base: &CleanPath) -> Result<Self, PathFault> {
        if cfg!(windows) {
            return Ok(Self::fold_windows(path, Some(base))?);
        }
        check_text(path.as_os_str())?;
        Self::fold(if path.is_absolute() { Path::new("/") } else { &base.0 }, path)
    }

    /// Folds an absolute path. `None` if it is relative or not a path.
    pub fn absolute(path: &Path) -> Option<Self> {
        if cfg!(windows) {
            return Self::fold_windows(path, None).ok();
        }
        if !path.is_absolute() || check_text(path.as_os_str()).is_err() {
            return None;
        }
        Self::fold(Path::new("/"), path).ok()
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The rest of this path below `base`. `None` if it is not below.
    pub fn below(&self, base: &CleanPath) -> Option<&Path> {
        if cfg!(windows) {
            return windows_path::below(self.0.to_str()?, base.0.to_str()?).map(Path::new);
        }
        // Most paths are not below, which their bytes show at once.
        let rest = self.bytes().strip_prefix(base.bytes())?;
        let at_boundary = rest.first().is_none_or(|byte| char::from(*byte) == std::path::MAIN_SEPARATOR);
        if !at_boundary && base.0.parent().is_some() {
            return None;
        }
        self.0.strip_prefix(&base.0).ok()
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_encoded_bytes()
    }

    /// What equality, order and hash compare.
    fn key(&self) -> Cow<'_, [u8]> {
        if cfg!(windows)
            && let Some(text) = self.0.to_str()
        {
            return Cow::Owned(windows_path::case_key(text).into_bytes());
        }
        Cow::Borrowed(self.bytes())
    }

    fn fold_windows(path: &Path, base: Option<&CleanPath>) -> Result<Self, WindowsPathFault> {
        let text = path.to_str().ok_or(WindowsPathFault::NotUnicode)?;
        let base = base.and_then(|base| base.0.to_str());
        windows_path::fold(text, base).map(|path| Self(path.into()))
    }

    fn fold(base: &Path, path: &Path) -> Result<Self, PathFault> {
        let mut folded = base.to_owned();
        for component in path.components() {
            match component {
                Component::Normal(name) => folded.push(name),
                Component::ParentDir => {
                    folded.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        if folded.as_os_str().len() > MAX_PATH_LEN {
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

fn check_text(text: &OsStr) -> Result<(), PathFault> {
    let bytes = text.as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(PathFault::Nul);
    }
    // Folding can shorten a text, but one many times the limit is not worth folding.
    if bytes.len() > 16 * MAX_PATH_LEN {
        return Err(PathFault::TooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn base() -> CleanPath {
        CleanPath::absolute(Path::new("/ws")).unwrap()
    }

    #[cfg(unix)]
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

    #[cfg(unix)]
    #[test]
    fn what_the_kernel_would_not_take_is_no_path() {
        assert_eq!(CleanPath::new(Path::new("a\0b"), &base()), Err(PathFault::Nul));
        assert_eq!(CleanPath::new(Path::new(&"a/".repeat(10_000)), &base()), Err(PathFault::TooLong));
        assert_eq!(CleanPath::new(Path::new(&"x".repeat(5_000)), &base()), Err(PathFault::TooLong));
    }

    #[cfg(windows)]
    #[test]
    fn windows_paths_are_folded_and_compared_without_case() {
        let base = CleanPath::absolute(Path::new(r"c:\ws")).unwrap();
        let path = CleanPath::new(Path::new("./Data/../x"), &base).unwrap();
        assert_eq!(path.as_path(), Path::new(r"C:\ws\x"));
        assert_eq!(path, CleanPath::absolute(Path::new(r"C:\WS\X")).unwrap());
        assert_eq!(path.below(&base), Some(Path::new("x")));
        assert_eq!(CleanPath::absolute(Path::new(r"C:\wsx")).unwrap().below(&base), None);
        assert!(CleanPath::absolute(Path::new(r"\x")).is_none(), "no drive");
        assert_eq!(
            CleanPath::new(Path::new("NUL"), &base),
            Err(PathFault::Windows(WindowsPathFault::ReservedName))
        );
    }
}
