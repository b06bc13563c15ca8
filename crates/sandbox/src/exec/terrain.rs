//! The file system as the guard asks about it, looked up now.
//!
//! A judgement asks about the same few paths again and again: each is looked up once.
//!
//! Invariant: looks and never opens; an answer that cannot be had is the one that allows least.

use crate::files::Files;
use crate::root::{EntryKind, Page, ProtectedInodes};
use picoclaw_policy::shell::guard::{Landed, Terrain};
use picoclaw_policy::{Access, CleanPath, FileKind, LinkOwner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Names in a directory that a pattern is compared with.
const MOST_NAMES: usize = 4096;

/// This host, as it is during one judgement.
pub struct HostTerrain<'a> {
    files: &'a Files,
    path: &'a [CleanPath],
    looks: RefCell<BTreeMap<CleanPath, Look>>,
    names: RefCell<BTreeMap<CleanPath, Option<Vec<String>>>>,
}

/// What a look at a path found.
#[derive(Clone)]
struct Look {
    landed: Landed,
    kind: FileKind,
}

impl<'a> HostTerrain<'a> {
    /// Looks through these files; programs are found in `path`.
    pub fn new(files: &'a Files, path: &'a [CleanPath]) -> Self {
        Self { files, path, looks: RefCell::default(), names: RefCell::default() }
    }

    fn look(&self, path: &CleanPath) -> Look {
        if let Some(known) = self.looks.borrow().get(path) {
            return known.clone();
        }
        let look = self.first_look(path);
        self.looks.borrow_mut().insert(path.clone(), look.clone());
        look
    }

    fn first_look(&self, path: &CleanPath) -> Look {
        let stays = |kind| Look { landed: Landed { path: path.clone(), links: LinkOwner::System }, kind };
        if let Some(kind) = self.glance(path) {
            return stays(kind);
        }
        let Some(place) = self.place(path, Access::Read) else { return stays(FileKind::Missing) };
        let kind = place.kind();
        let Some(landed) = CleanPath::absolute(&place.resolved()) else { return stays(kind) };
        let anyone = place.links().iter().any(|link| link.owner == LinkOwner::Anyone);
        let links = if anyone { LinkOwner::Anyone } else { LinkOwner::System };
        Look { landed: Landed { path: landed, links }, kind }
    }

    fn first_listing(&self, dir: &CleanPath) -> Option<Vec<String>> {
        let page = Page { offset: 0, limit: MOST_NAMES };
        let listing = self.place(dir, Access::List)?.list(page).ok()?;
        if listing.total > listing.entries.len() {
            return None;
        }
        let names = listing.entries.iter().filter(|entry| entry.kind != EntryKind::Special);
        names.map(|entry| entry.name.to_str().map(str::to_owned)).collect()
    }

    /// What is at a path without links; `None` where it takes a walk to find out.
    fn glance(&self, path: &CleanPath) -> Option<FileKind> {
        let below = path.as_path().strip_prefix("/").ok()?;
        self.files.host().ok()?.kind_of_plain(below)
    }

    fn place(&self, path: &CleanPath, access: Access) -> Option<crate::root::Place> {
        let below = path.as_path().strip_prefix("/").ok()?;
        self.files.host().ok()?.locate(below, access, &ProtectedInodes::default()).ok()
    }
}

impl Terrain for HostTerrain<'_> {
    fn lands(&self, path: &CleanPath) -> Landed {
        self.look(path).landed
    }

    fn kind(&self, path: &CleanPath) -> FileKind {
        self.look(path).kind
    }

    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>> {
        self.names.borrow_mut().entry(dir.clone()).or_insert_with(|| self.first_listing(dir)).clone()
    }

    fn on_path(&self, path: &CleanPath) -> bool {
        let in_path =
            path.as_path().parent().is_some_and(|dir| self.path.iter().any(|known| known.as_path() == dir));
        in_path && is_program(path.as_path())
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
