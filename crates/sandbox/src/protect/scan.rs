//! Looks for files on the list in a directory tree, and decides which of them can be read-only.
//!
//! The tree is a child's own, so the search is bounded, follows no link out of it and runs no git.

use super::git_config::{GitDir, GitReader};
use super::git_index::{MAX_INDEX_BYTES, tracked};
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

/// The most directories within git directories that are read, and links there that are kept.
const MAX_GIT_DIRECTORIES: usize = 1_000;

/// How many names deep the search in git directories goes: branches have long names.
const MAX_GIT_DEPTH: usize = 2 * MAX_DEPTH;

/// The most mounts that protect files; the rest is only reported.
const MAX_MOUNTS: usize = 128;

/// The most entries that can be made read-only, tracked ones among them.
const MAX_FOUND: usize = 1_000;

/// Directories of a git directory in which no project lies. There can be many of them.
const GIT_STORES: &[&str] = &["logs", "objects", "refs"];

/// Directories within a submodule's git directory that hold no other git directory.
const GIT_INTERNAL: &[&str] = &["hooks", "info", "logs", "objects", "refs", "lfs", "rr-cache"];

/// What is on the list in one tree. Paths are relative to its root.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files and links, with what tells whether they were changed.
    pub(super) files: BTreeMap<PathBuf, Fingerprint>,
    /// Links in git directories, through which git writes. It makes none itself.
    pub(super) links: BTreeMap<PathBuf, GitLink>,
    /// Directories of this user that cannot be listed or entered. A child can open them again.
    pub(super) closed: BTreeSet<PathBuf>,
    /// Whether all of the tree was searched, but for them.
    pub(super) is_complete: bool,
    /// Whether all of its git directories was searched for links, but for objects.
    pub(super) has_all_links: bool,
    /// Why nothing of the tree could be searched.
    pub(super) root_error: Option<Errno>,
    /// The entries of the list that are in the tree, each with its rank.
    entries: BTreeMap<PathBuf, Rank>,
    found: Vec<Found>,
    repositories: BTreeSet<Repository>,
}

/// What is mounted over a tree, by its path there.
pub(super) type Mounts = BTreeMap<PathBuf, (HostEntryKind, ExposeMode)>;

/// A link in a git directory.
#[derive(Debug)]
pub(super) struct GitLink {
    pub(super) fingerprint: Fingerprint,
    /// Whether it leads out of the tree, or what it leads to is not known.
    pub(super) leads_out: bool,
}

/// How early an entry is named in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A link in a git directory that leads out.
    LinkOut,
    /// Git's configuration leads there.
    Configured,
    /// The entry at this position of the list.
    Listed(usize),
    /// A directory that cannot be searched.
    Closed,
    /// A link in a git directory to something in the tree.
    LinkInside,
}

/// A file's identity, size, times and mode; the default is that of an empty directory. A child
/// cannot set the time of change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    inode: i128,
    size: i128,
    mode: i128,
    /// In nanoseconds since 1970, as the time of change.
    modified: i128,
    changed: i128,
}

/// An entry that can be made read-only.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    kind: HostEntryKind,
    place: Place,
}

/// Where an entry lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a git directory, where nothing is tracked.
    GitDirectory,
    /// In a work tree, if it lies in one: its repository may track it.
    WorkTree,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Repository {
    work_tree: PathBuf,
    git_dir: PathBuf,
    hash_bytes: usize,
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

/// A directory in which links are looked for, since git writes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitPart {
    /// A git directory.
    Whole,
    /// Its objects, which are many and never written a second time.
    Objects,
    /// Where git directories of submodules or linked work trees lie.
    Nested,
    /// Anything else.
    Other,
}

impl GitPart {
    /// What the directory `name` of this one is, if it is searched.
    fn part(self, name: &OsStr) -> Option<Self> {
        let name = name.to_str().unwrap_or_default();
        match (self, name) {
            (Self::Whole, "objects" | "lfs") => Some(Self::Objects),
            (Self::Whole, "modules" | "worktrees") | (Self::Nested, _) => Some(Self::Nested),
            (Self::Objects, _) if !matches!(name, "info" | "pack") => None,
            _ => Some(Self::Other),
        }
    }
}

struct Search<'s> {
    root: &'s Path,
    handle: OwnedFd,
    rules: &'s ProtectRules,
    queue: VecDeque<(PathBuf, VisitKind)>,
    /// What was ever in the queue: links and settings may lead to one directory twice.
    seen: HashSet<(PathBuf, VisitKind)>,
    /// The same for links in git directories, which come last.
    git_queue: VecDeque<(PathBuf, GitPart)>,
    git_seen: HashSet<PathBuf>,
    names_left: usize,
    reader: GitReader,
    scan: Scan,
}

impl Scan {
    /// Searches the tree at `root`, for an operator with this home.
    pub(super) fn of(root: &Path, rules: &ProtectRules, home: &Path) -> Self {
        if rules.is_empty() || rules.is_unprotected(root, Path::new("")) {
            return Self { is_complete: true, has_all_links: true, ..Self::default() };
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
            git_queue: VecDeque::new(),
            git_seen: HashSet::new(),
            names_left: MAX_NAMES,
            reader: GitReader::new(root, home),
            scan: Self { is_complete: true, has_all_links: true, ..Self::default() },
        };
        search.enqueue(PathBuf::new(), VisitKind::Project);
        for _ in 0..MAX_DIRECTORIES {
            let Some((path, kind)) = search.queue.pop_front() else { break };
            search.visit(path, kind);
        }
        search.scan.is_complete &= search.queue.is_empty() && search.reader.is_complete;
        search.git_links();
        search.scan
    }

    /// What is mounted over the tree: each protected entry read-only, and each directory above it
    /// over itself, since a mount point cannot be renamed.
    pub(super) fn mounts(&self, root: &Path, rules: &ProtectRules) -> Mounts {
        self.mounts_and_rest(root, rules).0
    }

    /// Whether there is more to protect than is mounted.
    pub(super) fn exceeds_mounts(&self, root: &Path, rules: &ProtectRules) -> bool {
        // At most one for each name of each path; which of them git tracks takes longer to find
        // out.
        let most: usize = self.found.iter().map(|found| found.path.iter().count()).sum();
        most > MAX_MOUNTS && self.mounts_and_rest(root, rules).1
    }

    fn mounts_and_rest(&self, root: &Path, rules: &ProtectRules) -> (Mounts, bool) {
        let mut mounts = BTreeMap::new();
        for found in self.protected() {
            if mounts.len() >= MAX_MOUNTS {
                return (mounts, true);
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
        (mounts, false)
    }

    /// Whether this is an entry of the list.
    pub(super) fn has_entry(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// The entry that a file belongs to: itself, or a directory above it.
    pub(super) fn entry_of<'p>(&self, path: &'p Path) -> (&'p Path, Rank) {
        let entries = path.ancestors().filter_map(|above| Some((above, *self.entries.get(above)?)));
        entries.last().unwrap_or((path, Rank::Configured))
    }

    /// What was found, without what git tracks: git replaces such files, and leaves the old ones
    /// without an error where it cannot. What a command can make any number of comes last.
    fn protected(&self) -> Vec<&Found> {
        let mut is_kept = vec![true; self.found.len()];
        let mut bytes_left = MAX_INDEX_BYTES;
        for Repository { work_tree, git_dir, hash_bytes } in &self.repositories {
            let asked = self.found.iter().enumerate().filter_map(|(at, found)| {
                let path = found.path.strip_prefix(work_tree).ok()?;
                // A child writes the index, and git never tracks such a path.
                let is_in_git = found.path.iter().any(is_dot_git);
                let is_asked = found.place == Place::WorkTree && !is_in_git;
                is_asked.then_some((at, path.as_os_str().as_encoded_bytes()))
            });
            let (asked, paths): (Vec<usize>, Vec<&[u8]>) = asked.unzip();
            if !paths.is_empty() {
                let answers = tracked(git_dir, *hash_bytes, &paths, &mut bytes_left);
                asked.iter().zip(answers).for_each(|(at, is_tracked)| is_kept[*at] &= !is_tracked);
            }
        }
        let kept = self.found.iter().zip(is_kept).filter_map(|(found, kept)| kept.then_some(found));
        let mut kept: Vec<_> = kept.collect();
        kept.sort_by_cached_key(|found| {
            let is_upper = |name: &OsStr| name.as_encoded_bytes().iter().any(u8::is_ascii_uppercase);
            let has_other_case = found.path.iter().rev().take(2).any(is_upper);
            (
                has_other_case,
                found.path.iter().count(),
                !found.path.iter().any(is_dot_git),
                found.path.clone(),
            )
        });
        kept
    }
}

impl Search<'_> {
    fn enqueue(&mut self, path: PathBuf, kind: VisitKind) {
        if !self.seen.insert((path.clone(), kind)) {
            return;
        }
        if path.components().count() <= MAX_DEPTH {
            self.queue.push_back((path, kind));
        } else {
            self.scan.is_complete = false;
        }
    }

    fn visit(&mut self, path: PathBuf, kind: VisitKind) {
        let mut names = self.names(&path);
        let is_git = is_git_directory(&names);
        // A file of the list that is new is reported: nothing else passes for a git directory
        // unseen.
        let is_known = |(name, kind): &(OsString, FileType)| {
            *kind == FileType::RegularFile && self.rules.git_paths().any(|(_, known)| name == known)
        };
        let is_certain = is_git && names.iter().any(is_known);
        match kind {
            VisitKind::Listed => {
                if names.is_empty() && self.scan.has_entry(&path) {
                    // It takes a mount, so it is reported like a file.
                    self.scan.files.insert(path.clone(), Fingerprint::default());
                }
                for (name, kind) in names {
                    self.listed(path.join(name), kind);
                }
            }
            VisitKind::GitModules => {
                self.git_entries(&path);
                self.configured_at(&path);
                for (name, kind) in names {
                    let is_internal = is_certain && GIT_INTERNAL.iter().any(|known| name == *known);
                    if kind == FileType::Directory && !is_internal {
                        self.enqueue(path.join(name), VisitKind::GitModules);
                    }
                }
            }
            VisitKind::Project => {
                // A project may have these names too, so it is searched as one all the same.
                if self.may_be_git_directory(&path, &names) {
                    self.git_directory(&path);
                    self.configured_at(&path);
                }
                if is_git {
                    self.enqueue_git_part(path.clone(), GitPart::Whole);
                }
                names.retain(|(name, _)| !is_certain || !GIT_STORES.iter().any(|known| name == *known));
                self.project(&path, names);
            }
        }
    }

    fn project(&mut self, path: &Path, names: Vec<(OsString, FileType)>) {
        for (name, kind) in names {
            let below = path.join(&name);
            if is_dot_git(&name) {
                self.repository(path, &below, kind);
            } else if let Some(at) = self.rules.position(&below) {
                self.entry(below, kind, Rank::Listed(at), Place::WorkTree);
            } else if kind == FileType::Directory && !is_tool_directory(&name) {
                self.enqueue(below, VisitKind::Project);
            }
        }
    }

    /// The repository whose work tree is at `work_tree`, by its `.git`.
    fn repository(&mut self, work_tree: &Path, dot_git: &Path, kind: FileType) {
        match kind {
            FileType::Directory => {}
            _ if !self.protects_git() => {}
            FileType::RegularFile => {
                self.entry(dot_git.to_owned(), kind, Rank::Configured, Place::GitDirectory);
            }
            _ => self.record(dot_git.to_owned()),
        }
        let git_dir = match kind {
            FileType::Directory | FileType::Symlink => Some(self.root.join(dot_git)),
            FileType::RegularFile => self.reader.git_file(&self.root.join(dot_git)),
            _ => None,
        };
        let Some(git) = git_dir.and_then(|git_dir| self.reader.git_dir(&git_dir)) else { return };
        self.configured(&git, Some(work_tree));
        for directory in [Some(git.path), git.common].into_iter().flatten() {
            if let Some(path) = self.reader.in_tree(&directory) {
                self.git_directory(&path);
                self.enqueue_git_part(path, GitPart::Whole);
            }
        }
    }

    /// Whether a directory is one of git's, or could be made one again: a command can rename or
    /// replace any of its parts.
    fn may_be_git_directory(&self, path: &Path, names: &[(OsString, FileType)]) -> bool {
        let has = |wanted: &str| names.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let parts = ["HEAD", "objects", "refs"].iter().filter(|part| has(part)).count();
        let is_named_so = || {
            let path = self.root.join(path);
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.to_ascii_lowercase().ends_with(b".git") && !has(".git")
        };
        parts >= 2 || has("HEAD") && has("commondir") || is_named_so()
    }

    /// Whether the list holds anything in git directories.
    fn protects_git(&self) -> bool {
        self.rules.git_paths().next().is_some()
    }

    /// A git directory, and those of submodules and linked work trees in it.
    fn git_directory(&mut self, path: &Path) {
        if !self.protects_git() || self.open(path, O_PATH).is_none() {
            return;
        }
        self.git_entries(path);
        for below in ["modules", "worktrees"] {
            let below = path.join(below);
            if self.kind_of(&below) == Some(FileType::Directory) {
                self.enqueue(below, VisitKind::GitModules);
            }
        }
    }

    fn enqueue_git_part(&mut self, path: PathBuf, part: GitPart) {
        let is_off = !self.protects_git() || self.rules.is_unprotected(self.root, &path);
        if is_off || !self.git_seen.insert(path.clone()) {
            return;
        }
        if path.components().count() <= MAX_GIT_DEPTH {
            self.git_queue.push_back((path, part));
        } else {
            self.scan.has_all_links = false;
        }
    }

    /// Looks for links in git directories, with bounds of its own: how many branches there are
    /// changes nothing for the project.
    fn git_links(&mut self) {
        let is_complete = std::mem::replace(&mut self.scan.is_complete, true);
        self.names_left = MAX_NAMES;
        for _ in 0..MAX_GIT_DIRECTORIES {
            let Some((path, part)) = self.git_queue.pop_front() else { break };
            let names = self.names(&path);
            // A submodule may be called `objects`.
            let part = if is_git_directory(&names) && part != GitPart::Other { GitPart::Whole } else { part };
            for (name, kind) in names {
                let below = path.join(&name);
                match kind {
                    FileType::Symlink => self.git_link(below),
                    FileType::Directory => {
                        let part = part.part(&name);
                        part.into_iter().for_each(|part| self.enqueue_git_part(below.clone(), part));
                    }
                    _ => {}
                }
            }
        }
        self.scan.has_all_links &= self.scan.is_complete && self.git_queue.is_empty();
        self.scan.is_complete = is_complete;
    }

    fn git_link(&mut self, path: PathBuf) {
        if self.scan.files.contains_key(&path) || self.rules.is_unprotected(self.root, &path) {
            return;
        }
        if self.scan.links.len() >= MAX_GIT_DIRECTORIES {
            self.scan.has_all_links = false;
        } else if let Some(stat) = self.stat(&path) {
            let (fingerprint, leads_out) = (Fingerprint::of(&stat), self.leads_out(&path));
            self.scan.links.insert(path, GitLink { fingerprint, leads_out });
        }
    }

    /// Whether a link leads out of the tree.
    fn leads_out(&self, link: &Path) -> bool {
        let link = self.root.join(link);
        // Writing to a link that leads to nothing makes what it names.
        let missing = || {
            let target = link.parent()?.join(std::fs::read_link(&link).ok()?);
            target.symlink_metadata().err()?;
            std::fs::canonicalize(target.parent()?).ok()
        };
        let target = std::fs::canonicalize(&link).ok().or_else(missing);
        target.is_none_or(|target| self.reader.in_tree(&target).is_none())
    }

    /// What is on the list in the git directory at `path`.
    fn git_entries(&mut self, path: &Path) {
        for (at, below) in self.rules.git_paths() {
            let below = path.join(below);
            if let Some(kind) = self.kind_of(&below) {
                self.entry(below, kind, Rank::Listed(at), Place::GitDirectory);
            }
        }
    }

    /// The same as [`Self::configured`], for a git directory whose work tree is not known.
    fn configured_at(&mut self, path: &Path) {
        if let Some(git) = self.reader.git_dir(&self.root.join(path)) {
            self.configured(&git, None);
        }
    }

    /// The work trees of a git directory, and what its configuration leads to.
    fn configured(&mut self, git: &GitDir, work_tree: Option<&Path>) {
        let config = self.reader.config(git);
        let mut from: Vec<_> = config.work_trees.iter().map(|path| git.path.join(path)).collect();
        let work_trees: Vec<_> = from.iter().filter_map(|path| self.reader.beneath(path)).collect();
        for work_tree in work_trees.into_iter().chain(work_tree.map(Path::to_owned)) {
            let (git_dir, hash_bytes) = (git.path.clone(), config.hash_bytes());
            self.scan.repositories.insert(Repository { work_tree, git_dir, hash_bytes });
        }
        if !self.protects_git() {
            return;
        }
        for include in &config.includes {
            if let Some((path, kind @ FileType::RegularFile)) = self.resolve(include) {
                self.entry(path, kind, Rank::Configured, Place::WorkTree);
            }
        }
        // Git takes it from the directory in which it runs hooks.
        from.extend(work_tree.map(|path| self.root.join(path)));
        from.push(git.path.clone());
        let git_path = self.reader.in_tree(&git.path);
        for hooks in from.iter().flat_map(|from| config.hooks.iter().map(|hooks| from.join(hooks))) {
            // A directory that holds the git directory cannot be read-only.
            if let Some((path, kind @ FileType::Directory)) = self.resolve(&hooks)
                && !git_path.as_ref().is_some_and(|git| git.starts_with(&path))
            {
                self.entry(path, kind, Rank::Configured, Place::WorkTree);
            }
        }
    }

    /// An entry of the list.
    fn entry(&mut self, path: PathBuf, kind: FileType, rank: Rank, place: Place) {
        if self.rules.is_unprotected(self.root, &path) {
            return;
        }
        if kind == FileType::Symlink
            && let Some((target, kind)) = self.resolve(&path)
        {
            self.entry(target, kind, rank, Place::WorkTree);
        }
        match entry_kind(kind) {
            Some(kind) if self.scan.found.len() < MAX_FOUND => {
                self.scan.found.push(Found { path: path.clone(), kind, place });
            }
            Some(_) => self.scan.is_complete = false,
            None => {}
        }
        self.scan.entries.entry(path.clone()).or_insert(rank);
        self.listed(path, kind);
    }

    /// Records a file on the list, with the file that it leads to, or what a directory holds.
    fn listed(&mut self, path: PathBuf, kind: FileType) {
        if kind == FileType::Directory {
            return self.enqueue(path, VisitKind::Listed);
        }
        if kind == FileType::Symlink
            && let Some((target, FileType::RegularFile)) = self.resolve(&path)
            && !self.scan.files.contains_key(&target)
        {
            let (_, rank) = self.scan.entry_of(&path);
            self.entry(target, FileType::RegularFile, rank, Place::WorkTree);
        }
        self.record(path);
    }

    /// What a link or a setting leads to, if that lies in the tree.
    fn resolve(&mut self, path: &Path) -> Option<(PathBuf, FileType)> {
        let below = self.reader.beneath(&self.root.join(path))?;
        let kind = self.kind_of(&below)?;
        (!below.as_os_str().is_empty()).then_some((below, kind))
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

    /// A directory of the tree that can be entered, opened without following a link. One that
    /// cannot be searched is protected with all that it holds.
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
                if path.as_os_str().is_empty() {
                    self.scan.root_error = Some(errno);
                }
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
            self.scan.found.push(Found { path, kind, place: Place::GitDirectory });
        }
        self.scan.entries.insert(path.to_owned(), Rank::Closed);
        self.scan.closed.insert(path.to_owned());
        self.record(path.to_owned());
    }

    /// The names in a directory, each with what it is. Where there are too many, those of the list
    /// are looked for.
    fn names(&mut self, path: &Path) -> Vec<(OsString, FileType)> {
        let opened = self.open(path, OFlags::RDONLY | OFlags::NOCTTY);
        let Some(directory) = opened.map(Dir::new) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in directory.into_iter().flatten() {
            let Some(entry) = entry.ok().filter(|_| self.names_left > 0) else {
                self.scan.is_complete = false;
                let rules = self.rules;
                for name in rules.names() {
                    let kind = self.kind_of(&path.join(name));
                    names.extend(kind.map(|kind| (name.into(), kind)));
                }
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

/// Whether an error says that there is no such directory: a child may remove it, or put a link in
/// its place, while it is searched.
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
        Self {
            inode: stat.st_ino.into(),
            size: stat.st_size.into(),
            mode: stat.st_mode.into(),
            modified: time(stat.st_mtime, stat.st_mtime_nsec.into()),
            changed: time(stat.st_ctime, stat.st_ctime_nsec.into()),
        }
    }
}

fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Whether these can be the names in a git directory, as git itself decides it, following links.
/// Letters match in either case, since the host's file system may not tell them apart.
fn is_git_directory(names: &[(OsString, FileType)]) -> bool {
    let has = |wanted: &str, kind: FileType| {
        let is_kind = |found: FileType| found == kind || found == FileType::Symlink;
        names.iter().any(|(name, found)| name.eq_ignore_ascii_case(wanted) && is_kind(*found))
    };
    has("HEAD", FileType::RegularFile)
        && (has("commondir", FileType::RegularFile)
            || has("objects", FileType::Directory) && has("refs", FileType::Directory))
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
