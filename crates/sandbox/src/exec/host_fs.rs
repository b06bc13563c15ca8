//! The file system as the guard asks about it.
//!
//! The guard asks about the same few paths again and again during one judgement; each is looked up
//! once. Nothing is opened, and where a lookup fails the guard gets the answer that allows least.

use crate::act::Operands;
use crate::files::Files;
use crate::launch::is_program;
use crate::root::{EntryKind, Page, Place, ProtectedInodes};
use picoclaw_policy::shell::guard::{FileSystem, Judgement, Resolved};
use picoclaw_policy::{Access, CleanPath, FileKind, LinkOwner, PathLocation};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most names of a directory that a pattern is compared with.
const MAX_NAMES: usize = 4096;

/// Paths of a command that are compared when its answer comes. One with more cannot be approved.
const MAX_OPERANDS: usize = 4096;

/// The host's file system, as it is during one judgement.
pub struct HostFs<'a> {
    files: &'a Files,
    path: &'a [CleanPath],
    lookups: RefCell<BTreeMap<CleanPath, CachedLookup>>,
    listings: RefCell<BTreeMap<CleanPath, Option<Vec<String>>>>,
}

#[derive(Clone)]
struct CachedLookup {
    resolved: Resolved,
    kind: FileKind,
}

impl<'a> HostFs<'a> {
    /// Looks paths up beneath the host root of `files`; programs are found in the directories of
    /// `path`.
    pub fn new(files: &'a Files, path: &'a [CleanPath]) -> Self {
        Self { files, path, lookups: RefCell::default(), listings: RefCell::default() }
    }

    /// What the paths in a command lead to: every path that the guard looked up, and every word
    /// that could be one. A directory is named by device and inode.
    pub fn operands(&self, judgement: &Judgement) -> Operands {
        let mut paths: BTreeSet<CleanPath> = self.lookups.borrow().keys().cloned().collect();
        let words = judgement.commands.iter().flat_map(|command| {
            command.argv.iter().flat_map(|word| command.cwd.iter().map(move |cwd| (word, cwd)))
        });
        for (word, cwd) in words.take(16 * MAX_OPERANDS) {
            paths.extend(parts(word).filter_map(|part| CleanPath::absolute(&Path::new(cwd).join(part))));
        }
        let mut operands = Operands { is_cut: paths.len() > MAX_OPERANDS, ..Operands::default() };
        for path in paths.iter().take(MAX_OPERANDS) {
            let Some(place) = self.place(path, Access::Read) else { continue };
            let (named, resolved) = (path.as_path().display(), place.resolved());
            if resolved != path.as_path() {
                operands.links.push(format!("{named} -> {}", resolved.display()));
            }
            // A file may be rewritten meanwhile; which one the name stands for may not change.
            if place.kind() != FileKind::Missing {
                let directory = place.identity().filter(|_| place.kind() == FileKind::Directory);
                operands.paths.push(format!("{named} {} {directory:?}", resolved.display()));
            }
        }
        operands
    }

    fn lookup(&self, path: &CleanPath) -> CachedLookup {
        self.lookups.borrow_mut().entry(path.clone()).or_insert_with(|| self.lookup_now(path)).clone()
    }

    fn lookup_now(&self, path: &CleanPath) -> CachedLookup {
        let unresolved =
            |kind| CachedLookup { resolved: Resolved { path: path.clone(), links: LinkOwner::System }, kind };
        let Some(place) = self.place(path, Access::Read) else { return unresolved(FileKind::Missing) };
        let kind = place.kind();
        // On Windows no link is followed: where it leads is not known, and no rule opens a root.
        if place.landing() == PathLocation::Escaped {
            let root = path.as_path().ancestors().last().and_then(CleanPath::absolute);
            return root.map_or_else(
                || unresolved(kind),
                |path| CachedLookup { resolved: Resolved { path, links: LinkOwner::Anyone }, kind },
            );
        }
        let Some(target) = CleanPath::absolute(&place.resolved()) else { return unresolved(kind) };
        let anyone = place.links().iter().any(|link| link.owner == LinkOwner::Anyone);
        let links = if anyone { LinkOwner::Anyone } else { LinkOwner::System };
        CachedLookup { resolved: Resolved { path: target, links }, kind }
    }

    fn list_now(&self, dir: &CleanPath) -> Option<Vec<String>> {
        let page = Page { offset: 0, limit: MAX_NAMES };
        let listing = self.place(dir, Access::List)?.list(page).ok()?;
        if listing.total > listing.entries.len() {
            return None;
        }
        let names = listing.entries.iter().filter(|entry| entry.kind != EntryKind::Special);
        names.map(|entry| entry.name.to_str().map(str::to_owned)).collect()
    }

    fn place(&self, path: &CleanPath, access: Access) -> Option<Place> {
        self.files.locate_on_host(path.as_path(), access, &ProtectedInodes::default()).ok()
    }
}

impl FileSystem for HostFs<'_> {
    fn resolve(&self, path: &CleanPath) -> Resolved {
        self.lookup(path).resolved
    }

    fn kind(&self, path: &CleanPath) -> FileKind {
        self.lookup(path).kind
    }

    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>> {
        self.listings.borrow_mut().entry(dir.clone()).or_insert_with(|| self.list_now(dir)).clone()
    }

    fn on_path(&self, path: &CleanPath) -> bool {
        let dir = path.as_path().parent();
        let in_path = dir.is_some_and(|dir| self.path.iter().any(|known| known.as_path() == dir));
        in_path && is_program(path.as_path())
    }
}

/// A word, the value of an option in it, and the directory in front of a pattern.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    [Some(word), word.split_once('=').map(|(_, value)| value)].into_iter().flatten().filter_map(|part| {
        match part.find(['*', '?', '[', '{', '\u{2026}']) {
            None => Some(part),
            Some(at) => part[..at].rfind('/').map(|slash| &part[..=slash]),
        }
    })
}
