//! `isolation.protect`: files of a workspace that programs outside the cage execute or obey later.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The list where the configuration names none.
///
/// An entry that begins with `.git/` holds in every git directory: the one named `.git`, bare ones,
/// and those beneath `modules/` and `worktrees/`. Any other entry holds in every directory.
pub const DEFAULT_PROTECT: &[&str] = &[
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/commondir",
    ".git/gitdir",
    ".git/objects/info/alternates",
    ".git/remotes",
    ".git/branches",
    ".gitconfig",
    ".gitmodules",
    ".github/workflows",
    ".vscode",
    ".idea",
    ".cursor",
    ".claude",
    ".codex",
    ".mcp.json",
    ".envrc",
    ".ripgreprc",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
];

/// Directories whose content a build or package tool makes, replaces and deletes.
const TOOL_DIRECTORIES: &[&str] = &[
    "node_modules",
    "target",
    "venv",
    ".venv",
    ".tox",
    "__pycache__",
    ".terraform",
    ".build",
    "_deps",
    "vendor",
    "deps",
];

/// The list, and the paths that the operator took off it for one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectRules {
    entries: Vec<String>,
    unprotected: Vec<PathBuf>,
}

impl Default for ProtectRules {
    fn default() -> Self {
        Self::new(DEFAULT_PROTECT.iter().map(|entry| (*entry).to_owned()).collect())
    }
}

impl ProtectRules {
    /// Rules with these entries: relative paths, in whose names `*` stands for any text.
    pub fn new(entries: Vec<String>) -> Self {
        Self { entries, unprotected: Vec::new() }
    }

    /// Whether `entry` can be on the list: a relative path without dots.
    pub fn is_valid(entry: &str) -> bool {
        let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        entry.split('/').all(is_name)
    }

    /// Takes `path` and what lies beneath it off the list: absolute, or relative to the workspace.
    pub fn unprotect(&mut self, path: &Path) {
        self.unprotected.push(path.components().filter(|part| *part != Component::CurDir).collect());
    }

    /// Whether `path`, relative to the workspace at `root`, was taken off the list.
    pub fn is_unprotected(&self, root: &Path, path: &Path) -> bool {
        self.unprotected.iter().any(|off| path.starts_with(off) || root.join(path).starts_with(off))
    }

    /// The paths beneath `path` that were taken off the list, relative to the workspace at `root`.
    pub fn unprotected_beneath(&self, root: &Path, path: &Path) -> Vec<PathBuf> {
        let relative = self.unprotected.iter().map(|off| off.strip_prefix(root).unwrap_or(off));
        relative.filter(|off| off.starts_with(path) && *off != path).map(Path::to_owned).collect()
    }

    /// Whether nothing is protected.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every name that is part of an entry and stands for itself; of those in git directories,
    /// `.git` alone.
    pub fn names(&self) -> BTreeSet<&str> {
        let names = self.entries.iter().flat_map(|entry| match entry.strip_prefix(".git/") {
            Some(_) => ".git".split('/'),
            None => entry.split('/'),
        });
        names.filter(|name| !name.contains('*')).collect()
    }

    /// What is protected in a git directory, each with its position on the list.
    pub fn git_paths(&self) -> impl Iterator<Item = (usize, &str)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| entry.strip_prefix(".git/").map(|path| (at, path)))
    }

    /// The position on the list of the entry that `path`, relative to the workspace, is. Letters
    /// match in either case, since the host's file system may not tell them apart.
    pub fn position(&self, path: &Path) -> Option<usize> {
        self.entries.iter().position(|entry| {
            let mut names = path.iter().rev();
            let mut patterns = entry.rsplit('/');
            let is_match = |part: &str| {
                names.next().is_some_and(|name| matches(part.as_bytes(), name.as_encoded_bytes()))
            };
            !entry.starts_with(".git/") && patterns.all(is_match)
        })
    }

    /// Whether writing the file at `path`, relative to the workspace, changes something on the
    /// list, by its name alone.
    pub fn covers(&self, path: &Path) -> bool {
        let names: Vec<_> = path.iter().map(OsStr::as_encoded_bytes).collect();
        let git = names.iter().position(|name| is_git(name)).unwrap_or(names.len());
        // A submodule may be called like a tool's directory.
        if path.iter().take(git).any(is_tool_directory) {
            return false;
        }
        let is_beneath_entry = path.ancestors().any(|above| self.position(above).is_some());
        let mut at = (git..names.len()).filter(|at| is_git(names[*at]));
        is_beneath_entry || at.any(|at| self.covers_in_git(names[at], &names[at + 1..]))
    }

    /// Whether `inside`, a path in the directory with this name, is on the list of git directories.
    fn covers_in_git(&self, name: &[u8], inside: &[&[u8]]) -> bool {
        let Some((first, rest)) = inside.split_first() else {
            // A file named `.git` leads git to a directory.
            return name.len() == ".git".len() && self.git_paths().next().is_some();
        };
        let nested = [b"modules".as_slice(), b"worktrees"].iter().any(|known| matches(known, first));
        let starts = if nested { 0..=rest.len() } else { 0..=0 };
        self.git_paths().any(|(_, path)| {
            starts.clone().any(|start| {
                let mut names = inside.iter().skip(start);
                path.split('/').all(|part| names.next().is_some_and(|name| matches(part.as_bytes(), name)))
            })
        })
    }
}

/// Whether nothing is looked for in a directory with this name.
pub fn is_tool_directory(name: &OsStr) -> bool {
    TOOL_DIRECTORIES.iter().any(|known| name == *known)
}

/// Whether a directory with this name may be a git directory.
fn is_git(name: &[u8]) -> bool {
    matches(b"*.git", name)
}

/// `*` matches any text.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        Some((first, rest)) => {
            name.first().is_some_and(|byte| byte.eq_ignore_ascii_case(first)) && matches(rest, &name[1..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_write_would_change_of_the_list() {
        let rules = ProtectRules::default();
        for (why, path, want) in [
            ("a file", ".envrc", true),
            ("in any directory", "a/b/.envrc", true),
            ("in either case", "a/.ENVRC", true),
            ("a name that begins alike", ".envrc.example", false),
            ("beneath a directory", ".vscode/tasks.json", true),
            ("two names", ".github/workflows/ci.yml", true),
            ("the first of two names", ".github/CODEOWNERS", false),
            ("a hook", ".git/hooks/pre-commit", true),
            ("git's configuration", "sub/.git/config", true),
            ("in either case", ".GIT/Config", true),
            ("of a submodule", ".git/modules/a/b/hooks/post-checkout", true),
            ("of a worktree", ".git/worktrees/w/config.worktree", true),
            ("of a bare repository", "mirror.git/config", true),
            ("of a submodule among dependencies", ".git/modules/vendor/lib/hooks/post-checkout", true),
            ("of one with capitals", ".git/MODULES/a/config", true),
            ("of a project with such a name", "app.git/.git/config", true),
            ("of a repository in one", "a.git/b/c.git/hooks/update", true),
            ("of a dependency", "vendor/lib/.git/config", false),
            ("deeper", ".git/objects/info/alternates", true),
            ("a branch may be called so", ".git/refs/heads/hooks/config", false),
            ("a file that leads elsewhere", "sub/.git", true),
            ("a commit message", ".git/COMMIT_EDITMSG", false),
            ("a dependency's", "node_modules/x/.vscode/settings.json", false),
            ("a file like any other", "src/config", false),
        ] {
            assert_eq!(rules.covers(Path::new(path)), want, "{why}: `{path}`");
        }
        assert!(!ProtectRules::new(Vec::new()).covers(Path::new(".git")), "an empty list");
        let own = ProtectRules::new(vec!["deploy*.sh".to_owned()]);
        assert!(own.covers(Path::new("bin/deploy-all.sh")) && !own.covers(Path::new(".git/config")));
    }

    #[test]
    fn a_path_is_taken_off_with_all_beneath_it() {
        let mut rules = ProtectRules::default();
        rules.unprotect(Path::new("./.git/config"));
        rules.unprotect(Path::new("/w/sub"));
        for (path, want) in
            [(".git/config", true), (".git/config2", false), ("sub/.envrc", true), (".envrc", false)]
        {
            assert_eq!(rules.is_unprotected(Path::new("/w"), Path::new(path)), want, "`{path}`");
        }
    }

    #[test]
    fn an_entry_is_a_relative_path_without_dots() {
        for (entry, want) in
            [(".envrc", true), ("a/b*", true), ("", false), ("/etc", false), ("a/../b", false), ("a/", false)]
        {
            assert_eq!(ProtectRules::is_valid(entry), want, "`{entry}`");
        }
    }
}
