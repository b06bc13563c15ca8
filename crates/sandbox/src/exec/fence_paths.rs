//! The paths outside the workspace that `allow_read_paths` and `allow_write_paths` open behind the
//! full fence.
//!
//! Landlock knows directories and files, not patterns. A pattern that names a directory or a file
//! literally opens it; any other pattern opens the files that match it now, found by a bounded walk
//! from its literal beginning.

use crate::isolate::{HostFiles, LiveHost};
use picoclaw_policy::{LiteralPath, PathRules, literal_path, literal_prefix};
use std::path::{Path, PathBuf};

/// How many entries the walk for one pattern looks at.
const MAX_ENTRIES: usize = 2_000;
/// How deep it goes.
const MAX_DEPTH: usize = 8;
/// How many files one pattern opens.
const MAX_FILES: usize = 256;

/// The paths that `patterns` open, and the patterns that open nothing. A link that `may_be_planted`
/// by a command is not followed.
pub(super) fn opened(
    patterns: &[String],
    is_protected: impl Fn(&Path) -> bool,
    may_be_planted: impl Fn(&Path) -> bool,
) -> (Vec<PathBuf>, Vec<&str>) {
    let (mut opened, mut ignored) = (Vec::new(), Vec::new());
    for pattern in patterns {
        let found = match literal_path(pattern) {
            Some(LiteralPath::Directory(path)) => Some(vec![path]),
            // A rule for a directory would open everything beneath it.
            Some(LiteralPath::Exact(path)) => {
                Some(vec![path].into_iter().filter(|path| !path.is_dir()).collect())
            }
            None => matching_files(pattern),
        };
        let found = found.unwrap_or_default().into_iter();
        let found = found.filter(|path| !LiveHost.links(path).iter().any(|link| may_be_planted(link)));
        let found = found.filter_map(|path| path.canonicalize().ok());
        let found: Vec<_> = found.filter(|path| !is_protected(path)).collect();
        if found.is_empty() {
            ignored.push(pattern.as_str());
        }
        opened.extend(found);
    }
    (opened, ignored)
}

/// The regular files that match now; `None` where a walk would not be bounded.
fn matching_files(pattern: &str) -> Option<Vec<PathBuf>> {
    let start = literal_prefix(pattern)?;
    let rules = PathRules::compile(&[pattern]).ok()?;
    let (mut found, mut left, mut pending) = (Vec::new(), MAX_ENTRIES, vec![(start, 0)]);
    while let Some((directory, depth)) = pending.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let (Ok(kind), path) = (entry.file_type(), entry.path()) else { continue };
            if kind.is_dir() && depth < MAX_DEPTH {
                pending.push((path, depth + 1));
            } else if kind.is_file() && rules.matching(&path).is_some() {
                found.push(path);
            }
        }
    }
    (found.len() <= MAX_FILES).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_opens_what_it_names_and_what_matches_it_now() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for file in ["logs/a.log", "logs/b.txt", "logs/deep/c.log", "secret/key"] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::File::create(root.join(file)).unwrap();
        }
        let escaped = root.to_str().unwrap().replace('.', r"\.");
        for (why, pattern, want) in [
            ("a directory", format!("^{escaped}/logs/.*"), Some(vec!["logs"])),
            ("a file", format!(r"^{escaped}/logs/a\.log$"), Some(vec!["logs/a.log"])),
            ("not there", format!("^{escaped}/none/.*"), None),
            (
                "matches of a walk",
                format!(r"^{escaped}/logs/.*\.log$"),
                Some(vec!["logs/a.log", "logs/deep/c.log"]),
            ),
            ("something Protected", format!("^{escaped}/secret/.*"), None),
            ("from anywhere", r"\.log$".to_owned(), None),
            ("from the root", r"^/[a-z]+/.*\.log$".to_owned(), None),
        ] {
            let patterns = [pattern];
            let protected = root.join("secret");
            let (mut got, ignored) = opened(&patterns, |path| path.starts_with(&protected), |_| false);
            assert_eq!(ignored.is_empty(), want.is_some(), "{why}");
            got.sort();
            assert_eq!(
                got,
                want.unwrap_or_default().iter().map(|path| root.join(path)).collect::<Vec<_>>(),
                "{why}"
            );
        }
    }
}
