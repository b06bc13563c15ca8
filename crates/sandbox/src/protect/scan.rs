//! Looks for files on the list in a directory tree, and decides which of them can be read-only.
//!
//! The tree is a child's own, so the search is bounded, follows no link out of it and runs no git.

use super::git_config::{GitConfig, common_dir, git_file};
use super::git_index::tracked;
use crate::isolate::HostEntryKind;
use crate::os_file::{
    AsFd, AtFlags, CWD, Dir, Errno, FileType, Mode, O_PATH, OFlags, OwnedFd, Stat, lstat_beneath,
    open_beneath, openat, os_str, owner_of_new_files, statat,
};
use picoclaw_policy::config::ExposeMode;
use picoclaw_policy::{ProtectRules, is_tool_directory};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The most directories that are read, nearest to the root first.
const MAX_DIRECTORIES: usize = 1_000;

/// The most names that are read.
const MAX_NAMES: usize = 100_000;

/// How many names deep the search goes.
const MAX_DEPTH: usize = 10;

/// The most mounts that protect files; the rest is only reported.
const MAX_MOUNTS: usize = 128;

/// Directories within a submodule's git directory that hold no other git directory.
const GIT_INTERNAL: &[&str] = &["hooks", "info", "logs", "objects", "refs", "lfs", "rr-cache"];

/// What is on the list in one tree. Paths are relative to its root.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files and links, with what tells whether they were changed.
    pub(super) files: BTreeMap<PathBuf, Fingerprint>,
    /// Directories of this user that cannot be listed or entered. A child can open them again.
    pub(super) closed: BTreeSet<PathBuf>,
    /// Whether all of the tree was searched, but for them.
    pub(super) is_complete: bool,
    /// Why nothing of the tree could be searched.
    pub(super) root_error: Option<Errno>,
    /// The entries of the list that are in the tree, each with its rank.
    entries: BTreeMap<PathBuf, Rank>,
    found: Vec<Found>,
    repositories: Vec<Repository>,
}

/// How early an entry is named in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Git's configuration leads there.
    Configured,
    /// The entry at this position of the list.
    Listed(usize),
    /// A directory that cannot be searched.
    Closed,
}

/// A file's identity, size, times and mode. A child cannot set the time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([i128; 5]);

/// An entry that can be made read-only.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    kind: HostEntryKind,
    /// The repository whose index is asked about it; `None` where nothing can be tracked.
    repository: Option<usize>,
}

#[derive(Debug)]
struct Repository {
    work_tree: PathBuf,
    git_dir: PathBuf,
    hash_bytes: usize,
}

/// A directory to search.
struct Visit {
    path: PathBuf,
    kind: VisitKind,
    repository: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum VisitKind {
    /// A directory of the project.
    Project,
    /// On the list with all that it holds.
    Listed,
    /// `modules` or `worktrees` of a git directory, or something beneath.
    GitModules,
}

struct Search<'s> {
    root: &'s Path,
    handle: OwnedFd,
    rules: &'s ProtectRules,
    queue: VecDeque<Visit>,
    /// What was ever in the queue: links and settings may lead to one directory twice.
    seen: HashSet<(PathBuf, VisitKind)>,
    names_left: usize,
    scan: Scan,
}

impl Scan {
    /// Searches the tree at `root`.
    pub(super) fn of(root: &Path, rules: &ProtectRules) -> Self {
        if rules.is_empty() || rules.is_unprotected(root, Path::new("")) {
            return Self { is_complete: true, ..Self::default() };
        }
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = match openat(CWD, root, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(errno) => {
                let root_error = Some(errno).filter(|errno| !is_gone(*errno));
                return Self { root_error, ..Self::default() };
            }
        };
        let mut search = Search {
            root,
            handle,
            rules,
            queue: VecDeque::new(),
            seen: HashSet::new(),
            names_left: MAX_NAMES,
            scan: Self { is_complete: true, ..Self::default() },
        };
        search.enqueue(PathBuf::new(), VisitKind::Project, None);
        for _ in 0..MAX_DIRECTORIES {
            let Some(visit) = search.queue.pop_front() else { return search.scan };
            search.visit(visit);
        }
        search.scan.is_complete &= search.queue.is_empty();
        search.scan
    }

    /// What is mounted over the tree: each protected entry read-only, and each directory above it over
    /// itself, since a mount point cannot be renamed.
    pub(super) fn mounts(
        &self,
        root: &Path,
        rules: &ProtectRules,
    ) -> BTreeMap<PathBuf, (HostEntryKind, ExposeMode)> {
        let mut mounts = BTreeMap::new();
        for found in self.protected() {
            if mounts.len() >= MAX_MOUNTS {
                break;
            }
            for above in found.path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                mounts.entry(above.to_owned()).or_insert((HostEntryKind::Directory, ExposeMode::ReadWrite));
            }
            mounts.insert(found.path.clone(), (found.kind, ExposeMode::ReadOnly));
            for path in rules.unprotected_beneath(root, &found.path) {
                let stat = statat(CWD, root.join(&path), AtFlags::SYMLINK_NOFOLLOW).ok();
                let kind = stat.and_then(|stat| entry_kind(FileType::from_raw_mode(stat.st_mode)));
                mounts.extend(kind.map(|kind| (path, (kind, ExposeMode::ReadWrite))));
            }
        }
        mounts
    }

    /// The entry that a file belongs to: itself, or a directory above it.
    pub(super) fn entry_of<'p>(&self, path: &'p Path) -> (&'p Path, Rank) {
        let entries = path.ancestors().filter_map(|above| Some((above, *self.entries.get(above)?)));
        entries.last().unwrap_or((path, Rank::Configured))
    }

    /// What was found, without what git tracks: git replaces such files, and leaves the old ones
    /// without an error where it cannot.
    fn protected(&self) -> Vec<&Found> {
        let mut is_kept = vec![true; self.found.len()];
        for (number, repository) in self.repositories.iter().enumerate() {
            let asked = self.found.iter().enumerate().filter_map(|(at, found)| {
                let path = found.path.strip_prefix(&repository.work_tree).ok()?;
                (found.repository == Some(number)).then_some((at, path.as_os_str().as_encoded_bytes()))
            });
            let (asked, paths): (Vec<usize>, Vec<&[u8]>) = asked.unzip();
            if !paths.is_empty() {
                let answers = tracked(&repository.git_dir, repository.hash_bytes, &paths);
                asked.iter().zip(answers).for_each(|(at, is_tracked)| is_kept[*at] = !is_tracked);
            }
        }
        self.found.iter().zip(is_kept).filter_map(|(found, kept)| kept.then_some(found)).collect()
    }
}

impl Search<'_> {
    fn enqueue(&mut self, path: PathBuf, kind: VisitKind, repository: Option<usize>) {
        if !self.seen.insert((path.clone(), kind)) {
            return;
        }
        if path.components().count() <= MAX_DEPTH {
            self.queue.push_back(Visit { path, kind, repository });
        } else {
            self.scan.is_complete = false;
        }
    }

    fn visit(&mut self, visit: Visit) {
        let names = self.names(&visit.path);
        let Visit { path, kind, repository } = visit;
        match kind {
            VisitKind::Listed => {
                for (name, kind) in names {
                    self.listed(path.join(name), kind, repository);
                }
            }
            VisitKind::GitModules => {
                self.git_paths(&path, None);
                // A new `config` is reported: no other directory passes for a git directory unseen.
                let is_module = is_git_directory(&names) && names.iter().any(|(name, _)| name == "config");
                for (name, kind) in names {
                    let is_internal = is_module && GIT_INTERNAL.iter().any(|known| name == *known);
                    if kind == FileType::Directory && !is_internal {
                        self.enqueue(path.join(name), VisitKind::GitModules, None);
                    }
                }
            }
            VisitKind::Project => {
                // A project may have these names too, so it is searched as one all the same.
                if is_git_directory(&names) {
                    self.git_directory(&path, None);
                }
                self.project(&path, names, repository);
            }
        }
    }

    fn project(&mut self, path: &Path, names: Vec<(OsString, FileType)>, above: Option<usize>) {
        let mut repository = above;
        let mut dot_gits: Vec<_> = names.iter().filter(|(name, _)| is_dot_git(name)).collect();
        // Of several names, git takes `.git` itself.
        dot_gits.sort_by_key(|(name, _)| name == ".git");
        for (name, kind) in dot_gits {
            repository = self.repository(path, &path.join(name), *kind).or(repository);
        }
        for (name, kind) in names.into_iter().filter(|(name, _)| !is_dot_git(name)) {
            let below = path.join(&name);
            if let Some(at) = self.rules.position(&below) {
                self.entry(below, kind, Rank::Listed(at), repository, repository);
            } else if kind == FileType::Directory && !is_tool_directory(&name) && !holds_objects(&below) {
                self.enqueue(below, VisitKind::Project, repository);
            }
        }
    }

    /// The repository whose work tree is at `work_tree`, by its `.git`.
    fn repository(&mut self, work_tree: &Path, dot_git: &Path, kind: FileType) -> Option<usize> {
        let protects_git = self.protects_git();
        match kind {
            FileType::RegularFile if protects_git => {
                self.entry(dot_git.to_owned(), kind, Rank::Configured, None, None);
            }
            FileType::Directory => {}
            _ if protects_git => self.record(dot_git.to_owned()),
            _ => {}
        }
        let git_dir = match kind {
            FileType::Directory | FileType::Symlink => self.root.join(dot_git),
            FileType::RegularFile => git_file(&self.root.join(dot_git))?,
            _ => return None,
        };
        let hash_bytes = GitConfig::read(&git_dir).hash_bytes();
        let work_tree = work_tree.to_owned();
        self.scan.repositories.push(Repository { work_tree, git_dir: git_dir.clone(), hash_bytes });
        let number = Some(self.scan.repositories.len() - 1);
        if kind == FileType::Directory {
            self.git_directory(dot_git, number);
        } else if protects_git {
            self.configured(&git_dir, number);
            for directory in [common_dir(&git_dir), Some(git_dir)].into_iter().flatten() {
                if let Some((path, FileType::Directory)) = self.resolve(&directory) {
                    self.git_directory(&path, number);
                }
            }
        }
        number
    }

    /// Whether the list holds anything in git directories.
    fn protects_git(&self) -> bool {
        self.rules.git_paths().next().is_some()
    }

    fn git_directory(&mut self, path: &Path, repository: Option<usize>) {
        if !self.protects_git() {
            return;
        }
        if self.open(path, O_PATH).is_none() {
            return;
        }
        self.git_paths(path, repository);
        for below in ["modules", "worktrees"] {
            let below = path.join(below);
            if self.kind_of(&below) == Some(FileType::Directory) {
                self.enqueue(below, VisitKind::GitModules, None);
            }
        }
    }

    /// What is on the list in the git directory at `path`, and what its configuration leads to.
    fn git_paths(&mut self, path: &Path, repository: Option<usize>) {
        for (at, below) in self.rules.git_paths() {
            let below = path.join(below);
            if let Some(kind) = self.kind_of(&below) {
                self.entry(below, kind, Rank::Listed(at), repository, None);
            }
        }
        self.configured(&self.root.join(path), repository);
    }

    /// What the configuration of a git directory leads to.
    fn configured(&mut self, git_dir: &Path, repository: Option<usize>) {
        let config = GitConfig::read(git_dir);
        for include in &config.includes {
            if let Some((path, kind @ FileType::RegularFile)) = self.resolve(include) {
                self.entry(path, kind, Rank::Configured, repository, repository);
            }
        }
        // Git takes it from the directory in which it runs hooks.
        let work_tree = repository.map(|number| self.root.join(&self.scan.repositories[number].work_tree));
        let work_trees = config.work_trees.iter().map(|path| git_dir.join(path)).chain(work_tree);
        for from in work_trees.chain([git_dir.to_owned()]) {
            for hooks in &config.hooks {
                if let Some((path, kind @ FileType::Directory)) = self.resolve(&from.join(hooks))
                    && !self.holds(&path, git_dir)
                {
                    self.entry(path, kind, Rank::Configured, repository, repository);
                }
            }
        }
    }

    /// Whether the git directory lies in the directory at `path`, which then cannot be read-only.
    fn holds(&mut self, path: &Path, git_dir: &Path) -> bool {
        self.resolve(git_dir).is_some_and(|(git_dir, _)| git_dir.starts_with(path))
    }

    /// An entry of the list; `tracked_by` is the repository whose index is asked about it.
    fn entry(
        &mut self,
        path: PathBuf,
        kind: FileType,
        rank: Rank,
        repository: Option<usize>,
        tracked_by: Option<usize>,
    ) {
        if self.rules.is_unprotected(self.root, &path) {
            return;
        }
        if kind == FileType::Symlink
            && let Some((target, kind)) = self.resolve(&path)
        {
            self.entry(target, kind, rank, repository, repository);
        }
        if let Some(kind) = entry_kind(kind) {
            self.scan.found.push(Found { path: path.clone(), kind, repository: tracked_by });
        }
        self.scan.entries.entry(path.clone()).or_insert(rank);
        self.listed(path, kind, repository);
    }

    /// Records a file on the list, with the file that it leads to, or what a directory holds.
    fn listed(&mut self, path: PathBuf, kind: FileType, repository: Option<usize>) {
        if kind == FileType::Directory {
            return self.enqueue(path, VisitKind::Listed, repository);
        }
        if kind == FileType::Symlink
            && let Some((target, FileType::RegularFile)) = self.resolve(&path)
            && !self.scan.files.contains_key(&target)
        {
            let (_, rank) = self.scan.entry_of(&path);
            self.entry(target, FileType::RegularFile, rank, repository, repository);
        }
        self.record(path);
    }

    /// What a link or a setting leads to, if that lies in the tree.
    fn resolve(&mut self, path: &Path) -> Option<(PathBuf, FileType)> {
        let root = std::fs::canonicalize(self.root).ok()?;
        let target = std::fs::canonicalize(self.root.join(path)).ok()?;
        let below = target.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty())?;
        Some((below.to_owned(), self.kind_of(below)?))
    }

    fn record(&mut self, path: PathBuf) {
        let is_sample = path.extension().is_some_and(|end| end == "sample")
            && path.parent().is_some_and(|parent| parent.ends_with("hooks"));
        if is_sample || self.rules.is_unprotected(self.root, &path) {
            return;
        }
        if let Some(stat) = self.stat(&path) {
            self.scan.files.insert(path, Fingerprint::of(&stat));
        }
    }

    fn kind_of(&mut self, path: &Path) -> Option<FileType> {
        self.stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode))
    }

    fn stat(&mut self, path: &Path) -> Option<Stat> {
        match lstat_beneath(self.handle.as_fd(), or_dot(path)) {
            Ok(stat) => Some(stat),
            Err(errno) => {
                self.scan.is_complete &= is_gone(errno);
                None
            }
        }
    }

    /// A directory of the tree that can be entered, opened without following a link. One that cannot
    /// be searched is protected with all that it holds.
    fn open(&mut self, path: &Path, flags: OFlags) -> Option<OwnedFd> {
        let opened = open_beneath(self.handle.as_fd(), or_dot(path), flags | OFlags::DIRECTORY);
        // Reading a directory takes another permission than looking a name up in it.
        let entered = opened.and_then(|dir| statat(&dir, ".", AtFlags::empty()).map(|_| dir));
        match entered {
            Ok(directory) => return Some(directory),
            Err(errno) if is_gone(errno) => {}
            Err(Errno::ACCESS) => self.close(path),
            Err(errno) => {
                self.scan.is_complete = false;
                self.scan.root_error = Some(errno).filter(|_| path.as_os_str().is_empty());
            }
        }
        None
    }

    fn close(&mut self, path: &Path) {
        let is_own = self.stat(path).is_some_and(|stat| stat.st_uid == owner_of_new_files().0);
        if !is_own || self.rules.is_unprotected(self.root, path) {
            return;
        }
        if path.as_os_str().is_empty() {
            self.scan.root_error = Some(Errno::ACCESS);
        } else {
            let (path, kind) = (path.to_owned(), HostEntryKind::Directory);
            self.scan.found.push(Found { path, kind, repository: None });
        }
        self.scan.entries.insert(path.to_owned(), Rank::Closed);
        self.scan.closed.insert(path.to_owned());
        self.record(path.to_owned());
    }

    /// The names in a directory, each with what it is.
    fn names(&mut self, path: &Path) -> Vec<(OsString, FileType)> {
        let opened = self.open(path, OFlags::RDONLY | OFlags::NOCTTY);
        let Some(directory) = opened.map(Dir::new) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in directory.into_iter().flatten() {
            let Some(entry) = entry.ok().filter(|_| self.names_left > 0) else {
                self.scan.is_complete = false;
                break;
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            self.names_left -= 1;
            let name = os_str(name).to_owned();
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind_of(&path.join(&name)).unwrap_or(FileType::Unknown),
                known => known,
            };
            names.push((name, kind));
        }
        names
    }
}

/// Whether an error says that there is no such directory: a child may remove it, or put a link in its
/// place, while it is searched.
fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// The tree itself is `.`.
fn or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Fingerprint {
    fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanoseconds: i128| i128::from(seconds) * 1_000_000_000 + nanoseconds;
        Self([
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mode),
            time(stat.st_mtime, stat.st_mtime_nsec.into()),
            time(stat.st_ctime, stat.st_ctime_nsec.into()),
        ])
    }
}

fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Whether these can be the names in a git directory, as git itself decides it.
fn is_git_directory(names: &[(OsString, FileType)]) -> bool {
    let has = |wanted: &str| names.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Whether only git's objects are in a directory with this path. There can be 256 of them.
fn holds_objects(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_beneath = path.parent().is_some_and(|parent| parent.ends_with("objects"));
    is_beneath && name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}

/// What is mounted over an entry; a link holds no mount.
fn entry_kind(kind: FileType) -> Option<HostEntryKind> {
    match kind {
        FileType::Directory => Some(HostEntryKind::Directory),
        FileType::RegularFile => Some(HostEntryKind::File),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
