//! The file system as the guard asks about it, looked up now.
//!
//! Invariant: looks and never opens; an answer that cannot be had is the one that allows least.

use crate::files::Files;
use crate::root::{EntryKind, Page, Seals};
use picoclaw_policy::shell::guard::{Landed, Terrain};
use picoclaw_policy::{Access, CleanPath, FileKind, LinkOwner};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Names in a directory that a pattern is compared with.
const MOST_NAMES: usize = 4096;

/// This host.
pub struct HostTerrain<'a> {
    files: &'a Files,
    path: &'a [CleanPath],
}

impl<'a> HostTerrain<'a> {
    /// Looks through these files; programs are found in `path`.
    pub fn new(files: &'a Files, path: &'a [CleanPath]) -> Self {
        Self { files, path }
    }

    /// What is at a path without links; `None` where it takes a walk to find out.
    fn glance(&self, path: &CleanPath) -> Option<FileKind> {
        let below = path.as_path().strip_prefix("/").ok()?;
        self.files.host().ok()?.glance(below)
    }

    fn place(&self, path: &CleanPath, access: Access) -> Option<crate::root::Place> {
        let below = path.as_path().strip_prefix("/").ok()?;
        self.files.host().ok()?.locate(below, access, &Seals::default()).ok()
    }
}

impl Terrain for HostTerrain<'_> {
    fn lands(&self, path: &CleanPath) -> Landed {
        let stays = Landed { path: path.clone(), links: LinkOwner::System };
        if self.glance(path).is_some() {
            return stays;
        }
        let Some(place) = self.place(path, Access::Read) else { return stays };
        let Some(landed) = CleanPath::absolute(&place.resolved()) else { return stays };
        let anyone = place.links().iter().any(|link| link.owner == LinkOwner::Anyone);
        Landed { path: landed, links: if anyone { LinkOwner::Anyone } else { LinkOwner::System } }
    }

    fn kind(&self, path: &CleanPath) -> FileKind {
        self.glance(path)
            .unwrap_or_else(|| self.place(path, Access::Read).map_or(FileKind::Missing, |place| place.kind()))
    }

    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>> {
        let listing = self.place(dir, Access::List)?.list(Page { offset: 0, limit: MOST_NAMES }).ok()?;
        if listing.total > listing.entries.len() {
            return None;
        }
        let names = listing.entries.into_iter().filter(|entry| entry.kind != EntryKind::Special);
        names.map(|entry| entry.name.into_string().ok()).collect()
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
