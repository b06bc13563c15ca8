//! Looking: turns a clean relative path into a place.
//!
//! Looking opens a plain path in the workspace for reading, which one call then does for the effect as well. Nobody notices,
//! except a program of the agent's own that waits to write into a FIFO: it finds a reader, and loses it again.
//!
//! Invariant: looking changes nothing and never waits.

use super::base::Scope;
use super::directory::Root;
use super::error::RootError;
use super::facts::Facts;
use super::openat2::{LOOK, open_beneath};
use super::place::{Hold, Name, Place, Standing, Trail};
use super::seals::{Mark, Seals};
use super::walk::{End, Spot, Walked, walk};
use picoclaw_policy::{Access, FileKind};
use rustix::fs::{AtFlags, OFlags, fstat, statat};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Root {
    /// Finds out where `path`, which is clean and relative to this root, leads.
    ///
    /// A look-up that the kernel blocks is still a place, so that the desk judges before anybody learns why.
    pub fn locate(&self, path: &Path, access: Access, seals: &Seals) -> Result<Place, RootError> {
        if !is_clean(path) {
            return Err(RootError::InvalidPath { path: path.to_owned() });
        }
        if let Some(place) = self.locate_plain(path, access, seals) {
            return Ok(place);
        }
        let walked = walk(self, path, access, seals);
        Ok(self.place_of(walked, path, access))
    }

    /// The short way, for plain paths in a workspace. `None` sends the path to the walking resolver.
    fn locate_plain(&self, path: &Path, access: Access, seals: &Seals) -> Option<Place> {
        let plain =
            self.base.scope == Scope::Workspace && !self.base.lacks.openat2() && !seals.need_every_step();
        if !plain || path.as_os_str().is_empty() {
            return None;
        }
        match access {
            Access::Read | Access::List => self.look_at_object(path, access, seals),
            Access::Write => self.look_at_name(path, seals),
        }
    }

    fn look_at_object(&self, path: &Path, access: Access, seals: &Seals) -> Option<Place> {
        let handle = match open_beneath(self.handle.as_fd(), path, LOOK) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Some(self.beneath(path, FileKind::Missing, Hold::Nothing)),
            Err(_) => return None,
        };
        let facts: Facts = fstat(&handle).ok()?.into();
        if seals.mark(&facts, Mark::Free).forbids(access) || seals.is_sealed_elsewhere(&facts, access) {
            return Some(self.protected(path));
        }
        Some(match facts.kind() {
            FileKind::Special | FileKind::Missing => self.beneath(path, FileKind::Special, Hold::Closed),
            kind => self.beneath(path, kind, Hold::Open { handle, facts }),
        })
    }

    fn look_at_name(&self, path: &Path, seals: &Seals) -> Option<Place> {
        let name = path.file_name()?.to_owned();
        let above = path.parent()?;
        let (dir, dir_facts) = if above.as_os_str().is_empty() {
            (Arc::clone(&self.handle), self.facts)
        } else {
            // Readable when that may be had: a directory is synced through a readable handle.
            let handle = open_beneath(self.handle.as_fd(), above, LOOK | OFlags::DIRECTORY)
                .or_else(|_| {
                    open_beneath(
                        self.handle.as_fd(),
                        above,
                        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                    )
                })
                .ok()?;
            let facts = fstat(&handle).ok()?.into();
            (Arc::new(handle), facts)
        };
        let there: Option<Facts> = match statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat.into()),
            Err(Errno::NOENT) => None,
            Err(_) => return None,
        };
        let above = seals.mark(&dir_facts, Mark::Free);
        let mark = there.map_or(above, |facts| seals.mark(&facts, above));
        if mark.forbids(Access::Write) {
            return Some(self.protected(path));
        }
        let kind = match there {
            None => FileKind::Missing,
            // A link is walked through, another device is asked what it is, and a directory is not a name to write to.
            Some(facts)
                if facts.is_link()
                    || facts.dev() != dir_facts.dev()
                    || facts.kind() == FileKind::Directory =>
            {
                return None;
            }
            Some(facts) if seals.is_sealed_elsewhere(&facts, Access::Write) => {
                return Some(self.protected(path));
            }
            Some(facts) => facts.kind(),
        };
        if kind == FileKind::Special {
            return Some(self.beneath(path, kind, Hold::Closed));
        }
        let spot = Spot { dir, dir_facts, name };
        Some(self.beneath(path, kind, Hold::Name(Box::new(Name { spot, missing: Vec::new(), there }))))
    }

    fn place_of(&self, walked: Walked, path: &Path, access: Access) -> Place {
        let Walked { end, resolved, links } = walked;
        let name = |spot, missing, there| Hold::Name(Box::new(Name { spot, missing, there }));
        let (kind, hold) = match end {
            End::Escaped => return self.place(path, Standing::Escaped, FileKind::Missing, Hold::Closed),
            End::Sealed => return self.protected(path),
            End::Procfs => (FileKind::Special, Hold::Closed),
            End::Blocked(errno) => (FileKind::Missing, Hold::Blocked(errno)),
            End::Directory { handle } => (FileKind::Directory, Hold::Directory { handle }),
            End::Absent { spot, missing } if access == Access::Write => {
                (FileKind::Missing, name(spot, missing, None))
            }
            End::Absent { .. } => (FileKind::Missing, Hold::Nothing),
            End::Object { facts, .. } if facts.kind() != FileKind::Regular => {
                (FileKind::Special, Hold::Closed)
            }
            End::Object { facts, spot, .. } if access == Access::Write => {
                (FileKind::Regular, name(spot, Vec::new(), Some(facts)))
            }
            End::Object { handle, facts, spot } => {
                (FileKind::Regular, Hold::File { handle, facts, spot: Box::new(spot) })
            }
        };
        Place { trail: Some(Box::new(Trail { resolved, links })), ..self.beneath(path, kind, hold) }
    }

    fn beneath(&self, path: &Path, kind: FileKind, hold: Hold) -> Place {
        self.place(path, Standing::Beneath, kind, hold)
    }

    fn protected(&self, path: &Path) -> Place {
        self.place(path, Standing::Protected, FileKind::Missing, Hold::Closed)
    }

    fn place(&self, path: &Path, end: Standing, kind: FileKind, hold: Hold) -> Place {
        Place { base: Arc::clone(&self.base), below: PathBuf::from(path), trail: None, end, kind, hold }
    }
}

/// Whether every component is a name. Nothing at all is the root itself.
pub(super) fn is_clean(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.is_empty()
        || bytes
            .split(|byte| *byte == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0))
}
