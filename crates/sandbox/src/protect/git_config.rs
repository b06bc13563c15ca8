//! Reads from git's configuration files which paths they lead to. Git itself is never run on a
//! project outside a cage.

use crate::isolate::{git_settings, is_git_dir};
use crate::os_file::{os_str, read_regular_file};
use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most bytes that one search reads.
const MAX_BYTES: u64 = 8 << 20;

/// The most paths that one search resolves.
const MAX_LOOKUPS: usize = 20_000;

/// How deep files include others.
const MAX_INCLUDE_DEPTH: usize = 4;

/// The most files of one git directory that are read, and the most settings of one file.
const MAX_PER_DIRECTORY: usize = 32;

/// What the configuration of a git directory leads to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitConfig {
    /// The values of `core.hooksPath`.
    pub(super) hooks: Vec<PathBuf>,
    /// Included files.
    pub(super) includes: Vec<PathBuf>,
    /// The values of `core.worktree`.
    pub(super) work_trees: Vec<PathBuf>,
    is_sha256: bool,
}

/// A git directory, and the one whose configuration it shares. Both paths have no links.
#[derive(Debug)]
pub(super) struct GitDir {
    pub(super) path: PathBuf,
    pub(super) common: Option<PathBuf>,
}

/// Reads git directories for one search. A child may have written all that is read, so each file is
/// read once, within a budget, and only where git's files of the project and of the operator lie.
#[derive(Debug)]
pub(super) struct GitReader {
    root: PathBuf,
    home: PathBuf,
    files: HashMap<PathBuf, Rc<[Setting]>>,
    lookups_left: usize,
    bytes_left: u64,
    /// Whether the budget was enough.
    pub(super) is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Setting {
    Hooks(PathBuf),
    WorkTree(PathBuf),
    Include(PathBuf),
    Sha256,
}

impl GitReader {
    /// For a search of the tree at `root`, of an operator with this home.
    pub(super) fn new(root: &Path, home: &Path) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self {
            root: real(root),
            home: real(home),
            files: HashMap::new(),
            lookups_left: MAX_LOOKUPS,
            bytes_left: MAX_BYTES,
            is_complete: true,
        }
    }

    /// What `path` leads to, relative to the tree, if it lies in it.
    pub(super) fn beneath(&mut self, path: &Path) -> Option<PathBuf> {
        let path = self.resolve(path)?;
        self.in_tree(&path)
    }

    /// A resolved path relative to the tree, if it lies in it.
    pub(super) fn in_tree(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    /// Where a file named `.git` leads.
    pub(super) fn git_file(&mut self, path: &Path) -> Option<PathBuf> {
        let text = self.read(path)?;
        let to = text.trim_ascii().strip_prefix(b"gitdir:")?.trim_ascii();
        Some(path.with_file_name(os_str(to)))
    }

    /// The git directory at `path`. Outside the tree there has to be one.
    pub(super) fn git_dir(&mut self, path: &Path) -> Option<GitDir> {
        let path = self.resolve(path)?;
        let common = self.read(&path.join("commondir"));
        let common = common.and_then(|text| self.resolve(&path.join(os_str(text.trim_ascii()))));
        let common = common.filter(|common| common.starts_with(&self.root) || is_git_dir(common));
        let is_of_common = common.as_ref().is_some_and(|common| path.starts_with(common));
        let is_one = path.starts_with(&self.root) || is_of_common || is_git_dir(&path);
        is_one.then_some(GitDir { path, common })
    }

    /// What the files of the git directory, of the one that it shares, and what they include say.
    pub(super) fn config(&mut self, git: &GitDir) -> GitConfig {
        let mut config = GitConfig::default();
        let directories = [Some(&git.path), git.common.as_ref()].into_iter().flatten();
        let files = directories.flat_map(|dir| [dir.join("config"), dir.join("config.worktree")]);
        let mut files: VecDeque<_> = files.map(|file| (file, 0)).collect();
        let mut left = MAX_PER_DIRECTORY;
        while let Some((file, depth)) = files.pop_front() {
            if left == 0 || depth > MAX_INCLUDE_DEPTH {
                self.is_complete = false;
                break;
            }
            left -= 1;
            let from = config.includes.len();
            config.add(&file, &self.settings(&file, git));
            files.extend(config.includes[from..].iter().map(|include| (include.clone(), depth + 1)));
        }
        config
    }

    fn settings(&mut self, file: &Path, git: &GitDir) -> Rc<[Setting]> {
        let path = self.resolve(file).filter(|path| self.is_configuration(path, git));
        let Some(path) = path else { return Rc::default() };
        if let Some(known) = self.files.get(&path) {
            return Rc::clone(known);
        }
        let text = self.read(&path).unwrap_or_default();
        let mut settings = parse(&text, &self.home);
        self.is_complete &= settings.len() <= MAX_PER_DIRECTORY;
        settings.truncate(MAX_PER_DIRECTORY);
        let settings = Rc::from(settings);
        self.files.insert(path, Rc::clone(&settings));
        settings
    }

    /// Whether a file is read: a child names any path of the host in an `include.path`.
    fn is_configuration(&self, path: &Path, git: &GitDir) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_beside = path.parent() == Some(&self.home) && name.starts_with(b".gitconfig");
        let common = git.common.as_ref().unwrap_or(&git.path);
        let places = [&self.root, &git.path, common, &self.home.join(".config/git")];
        is_beside || places.iter().any(|place| path.starts_with(place))
    }

    fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        if self.lookups_left == 0 {
            self.is_complete = false;
            return None;
        }
        self.lookups_left -= 1;
        std::fs::canonicalize(path).ok()
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        match read_regular_file(path, self.bytes_left.min(MAX_FILE_BYTES)) {
            Ok(text) => {
                self.bytes_left -= text.len() as u64;
                Some(text)
            }
            Err(error) => {
                self.is_complete &= error.kind() != ErrorKind::FileTooLarge;
                None
            }
        }
    }
}

impl GitConfig {
    /// How long the names of objects are.
    pub(super) fn hash_bytes(&self) -> usize {
        if self.is_sha256 { 32 } else { 20 }
    }

    fn add(&mut self, file: &Path, settings: &[Setting]) {
        for setting in settings {
            let (paths, path) = match setting {
                Setting::Hooks(path) => (&mut self.hooks, path.clone()),
                Setting::WorkTree(path) => (&mut self.work_trees, path.clone()),
                Setting::Include(path) => (&mut self.includes, file.with_file_name(path)),
                Setting::Sha256 => {
                    self.is_sha256 = true;
                    continue;
                }
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
}

/// What a file sets of what is asked for, each value once.
fn parse(text: &[u8], home: &Path) -> Vec<Setting> {
    let mut found = Vec::new();
    for setting in git_settings(text) {
        let Some(value) = setting.value.filter(|value| !value.is_empty()) else { continue };
        let path = || match value.strip_prefix(b"~/") {
            Some(below) => home.join(os_str(below)),
            None => PathBuf::from(os_str(&value)),
        };
        let setting = match (setting.section.as_str(), setting.name.as_str()) {
            ("core", "hookspath") => Setting::Hooks(path()),
            ("core", "worktree") => Setting::WorkTree(path()),
            ("include" | "includeif", "path") => Setting::Include(path()),
            ("extensions", "objectformat") if value == b"sha256" => Setting::Sha256,
            _ => continue,
        };
        // One more than is kept tells that there are too many.
        if found.len() <= MAX_PER_DIRECTORY && !found.contains(&setting) {
            found.push(setting);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_of(text: &str) -> GitConfig {
        let mut config = GitConfig::default();
        config.add(Path::new("/r/.git/config"), &parse(text.as_bytes(), Path::new("/h")));
        config
    }

    #[test]
    fn a_value_is_what_git_reads() {
        for (text, want) in [
            ("[core]\n\thooksPath = h1\n", "h1"),
            ("[CORE] HOOKSPATH=h1", "h1"),
            ("[core]\r\n\thooksPath = h1\r\n", "h1"),
            ("\u{feff}[core]\nhooksPath = h1 # comment", "h1"),
            ("[core]\nhooksPath = h1;comment", "h1"),
            ("[core]\nhooksPath = \"h1 # no\" ; comment", "h1 # no"),
            ("[core]\nhooksPath = a\\\nb", "ab"),
            ("[core]\nhooksPath = \\\n  h1", "h1"),
            ("[core]\nhooksPath = a \"b\\\"c\\\\\"  ", "a b\"c\\"),
            ("# [x]\n; hooksPath = no\n[core] ; why\nhooksPath = h1", "h1"),
            ("[x \"]\"]\n[core]\nbare\nhooksPath = h1", "h1"),
            ("[core]\nhooksPath = ~/h1", "/h/h1"),
        ] {
            assert_eq!(config_of(text).hooks, [PathBuf::from(want)], "{text:?}");
        }
        let text = "[include]path = a\n[includeIf \"gitdir:[x]\"]\npath = \"../b\"\n[includeIf.x]path = /c\n[include]path=~/d";
        let want = ["/r/.git/a", "/r/.git/../b", "/c", "/h/d"].map(PathBuf::from);
        assert_eq!(config_of(text).includes, want);
        let text = "[corex]\nhooksPath = no\n[core \"x\"]\nhooks = no";
        assert_eq!(config_of(text), GitConfig::default());
    }
}
