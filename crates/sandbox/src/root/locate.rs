//! Lookups: [`Root::locate`] turns a clean relative path into a [`Place`].
//!
//! A plain path in a workspace is opened for reading at once, so the effect needs no second open.
//! The only visible side effect is a short-lived reader on a FIFO.
//!
//! Invariant: a lookup changes nothing and does not block.

use super::error::RootError;
use super::metadata::FileMeta;
use super::openat2_resolver::{OPEN_READ, open_beneath};
use super::place::{Place, PlaceHandle, PlaceState, WalkTrace, WriteTarget};
use super::protected_inodes::{ProtectedInodes, Protection};
use super::root_dir::{Root, Scope};
use super::walk_resolver::{DirEntryRef, WalkEnd, WalkResult, walk};
use crate::os_file::{AsFd, AtFlags, Errno, O_PATH, OFlags, fstat, statat};
use picoclaw_policy::{Access, FileKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Root {
    /// Finds out where `path`, which is clean and relative to this root, leads.
    ///
    /// A lookup that the kernel refuses is a place too: the policy check comes before the reason.
    pub fn locate(
        &self,
        path: &Path,
        access: Access,
        protected: &ProtectedInodes,
    ) -> Result<Place, RootError> {
        if !is_clean(path) {
            return Err(RootError::InvalidPath { path: path.to_owned() });
        }
        if let Some(place) = self.locate_plain(path, access, protected) {
            return Ok(place);
        }
        Ok(self.place_of(walk(self, path, access, protected), path, access))
    }

    /// The fast path for plain paths in a workspace; `None` sends the path to the walking resolver.
    fn locate_plain(&self, path: &Path, access: Access, protected: &ProtectedInodes) -> Option<Place> {
        let is_plain = self.base.scope == Scope::Workspace
            && !self.base.disabled.openat2()
            && !protected.needs_every_step();
        if !is_plain || path.as_os_str().is_empty() {
            return None;
        }
        match access {
            Access::Read | Access::List => self.locate_existing(path, access, protected),
            Access::Write => self.locate_target(path, protected),
        }
    }

    fn locate_existing(&self, path: &Path, access: Access, protected: &ProtectedInodes) -> Option<Place> {
        let handle = match open_beneath(self.handle.as_fd(), path, OPEN_READ) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Some(self.beneath(path, FileKind::Missing, PlaceHandle::Missing)),
            Err(_) => return None,
        };
        let meta: FileMeta = fstat(&handle).ok()?.into();
        if protected.protection_of(&meta, Protection::Open).forbids(access)
            || protected.is_protected_hard_link(&meta, access)
        {
            return Some(self.protected(path));
        }
        Some(match meta.kind() {
            FileKind::Special | FileKind::Missing => {
                self.beneath(path, FileKind::Special, PlaceHandle::Closed)
            }
            kind => self.beneath(path, kind, PlaceHandle::Open { handle, meta }),
        })
    }

    fn locate_target(&self, path: &Path, protected: &ProtectedInodes) -> Option<Place> {
        let name = path.file_name()?.to_owned();
        let parent = path.parent()?;
        let (dir, dir_meta) = if parent.as_os_str().is_empty() {
            (Arc::clone(&self.handle), self.meta)
        } else {
            // Readable if possible: a directory is synced through a readable descriptor.
            let by_path = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = open_beneath(self.handle.as_fd(), parent, OPEN_READ | OFlags::DIRECTORY)
                .or_else(|_| open_beneath(self.handle.as_fd(), parent, by_path))
                .ok()?;
            let meta = fstat(&handle).ok()?.into();
            (Arc::new(handle), meta)
        };
        let existing: Option<FileMeta> = match statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat.into()),
            Err(Errno::NOENT) => None,
            Err(_) => return None,
        };
        let inherited = protected.protection_of(&dir_meta, Protection::Open);
        let protection = existing.map_or(inherited, |meta| protected.protection_of(&meta, inherited));
        if protection.forbids(Access::Write) {
            return Some(self.protected(path));
        }
        let kind = match existing {
            None => FileKind::Missing,
            // The walking resolver follows links, checks other devices and reports directories.
            Some(meta)
                if meta.is_link() || meta.dev() != dir_meta.dev() || meta.kind() == FileKind::Directory =>
            {
                return None;
            }
            Some(meta) if protected.is_protected_hard_link(&meta, Access::Write) => {
                return Some(self.protected(path));
            }
            Some(meta) => meta.kind(),
        };
        if kind == FileKind::Special {
            return Some(self.beneath(path, kind, PlaceHandle::Closed));
        }
        let entry = DirEntryRef { dir, dir_meta, name };
        let target = WriteTarget { entry, missing: Vec::new(), existing };
        Some(self.beneath(path, kind, PlaceHandle::Target(Box::new(target))))
    }

    fn place_of(&self, walked: WalkResult, path: &Path, access: Access) -> Place {
        let WalkResult { end, resolved, links } = walked;
        let target = |entry, missing, existing| {
            PlaceHandle::Target(Box::new(WriteTarget { entry, missing, existing }))
        };
        let (kind, handle) = match end {
            WalkEnd::Escaped => {
                return self.place(path, PlaceState::Escaped, FileKind::Missing, PlaceHandle::Closed);
            }
            WalkEnd::Protected => return self.protected(path),
            WalkEnd::Procfs => (FileKind::Special, PlaceHandle::Closed),
            WalkEnd::Blocked(errno) => (FileKind::Missing, PlaceHandle::Blocked(errno)),
            WalkEnd::Directory { handle } => (FileKind::Directory, PlaceHandle::Directory { handle }),
            WalkEnd::Absent { entry, missing } if access == Access::Write => {
                (FileKind::Missing, target(entry, missing, None))
            }
            WalkEnd::Absent { .. } => (FileKind::Missing, PlaceHandle::Missing),
            WalkEnd::Object { meta, .. } if meta.kind() != FileKind::Regular => {
                (FileKind::Special, PlaceHandle::Closed)
            }
            WalkEnd::Object { meta, entry, .. } if access == Access::Write => {
                (FileKind::Regular, target(entry, Vec::new(), Some(meta)))
            }
            WalkEnd::Object { handle, meta, entry } => {
                (FileKind::Regular, PlaceHandle::File { handle, meta, entry: Box::new(entry) })
            }
        };
        Place { trace: Some(Box::new(WalkTrace { resolved, links })), ..self.beneath(path, kind, handle) }
    }

    fn beneath(&self, path: &Path, kind: FileKind, handle: PlaceHandle) -> Place {
        self.place(path, PlaceState::Beneath, kind, handle)
    }

    fn protected(&self, path: &Path) -> Place {
        self.place(path, PlaceState::Protected, FileKind::Missing, PlaceHandle::Closed)
    }

    fn place(&self, path: &Path, state: PlaceState, kind: FileKind, handle: PlaceHandle) -> Place {
        Place { base: Arc::clone(&self.base), below: PathBuf::from(path), trace: None, state, kind, handle }
    }
}

/// Whether every component is a plain name. The empty path is the root itself.
fn is_clean(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.is_empty()
        || bytes
            .split(|byte| std::path::is_separator(char::from(*byte)))
            .all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0))
}
