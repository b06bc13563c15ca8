//! What the house reads for itself: the instructions, notes and skills that lie in an agent's own workspace.
//!
//! No call asks for these, so no permit pays for them; and agents write in their workspaces, so a name there may be a link or
//! another name of something Protected. Everything is looked up beneath the directory's handle, as a call's path would be.
//!
//! Invariant: nothing is read that the agent itself could not read with a plain path beneath this directory.

use crate::instance::Planted;
use crate::root::{EntryKind, More, Overwrite, Page, ProtectedInodes, Root, RootError, Span, WriteContext};
use picoclaw_policy::{Access, FileKind, Landing, Zones};
use std::path::Path;

/// The most names that are taken from one directory.
const NAMES: usize = 1_000;

/// An open directory to read from.
#[derive(Debug)]
pub struct Lectern {
    root: Root,
    seals: ProtectedInodes,
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The text; what is not UTF-8 is shown as such.
    pub text: String,
    /// Whether it is all there is.
    pub more: More,
}

impl Lectern {
    /// Over an agent's workspace, with what is Protected from that agent closed here as well.
    pub fn over(zones: &Zones) -> Result<Self, RootError> {
        let name = zones.workspace.first().map_or(Path::new(""), |path| path.as_path());
        Ok(Self { root: Root::open(name)?, seals: ProtectedInodes::of(zones) })
    }

    /// Over a directory of the operator's own.
    pub fn at(dir: &Path) -> Result<Self, RootError> {
        Ok(Self { root: Root::open(dir)?, seals: ProtectedInodes::default() })
    }

    /// The first `most` bytes of a file; `None` when there is none.
    pub fn read(&self, path: &str, most: usize) -> Result<Option<Passage>, RootError> {
        let place = self.root.locate(Path::new(path), Access::Read, &self.seals)?;
        match place.landing() {
            Landing::Workspace if place.kind() == FileKind::Missing => return Ok(None),
            Landing::Workspace => {}
            _ => return Err(RootError::Escapes { path: place.asked() }),
        }
        let excerpt = place.read(Span { offset: 0, length: most })?;
        Ok(Some(Passage { text: String::from_utf8_lossy(&excerpt.bytes).into_owned(), more: excerpt.more }))
    }

    /// Puts a first text under a name; whatever is there already stays as it is.
    pub fn plant(&self, path: &str, text: &str, scribe: &WriteContext) -> Result<Planted, RootError> {
        let place = self.root.locate(Path::new(path), Access::Write, &self.seals)?;
        if place.landing() != Landing::Workspace {
            return Err(RootError::Escapes { path: place.asked() });
        }
        match place.write(text.as_bytes(), Overwrite::No, scribe) {
            Ok(()) => Ok(Planted::New),
            Err(RootError::Exists { .. }) => Ok(Planted::Kept),
            Err(why) => Err(why),
        }
    }

    /// The names of the directories in a directory; none when it is not there.
    pub fn directories(&self, path: &str) -> Result<Vec<String>, RootError> {
        let place = self.root.locate(Path::new(path), Access::List, &self.seals)?;
        match place.landing() {
            Landing::Workspace if place.kind() == FileKind::Missing => return Ok(Vec::new()),
            Landing::Workspace => {}
            _ => return Err(RootError::Escapes { path: place.asked() }),
        }
        let listing = place.list(Page { offset: 0, limit: NAMES })?;
        let directories = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
        Ok(directories.filter_map(|entry| entry.name.to_str()).map(str::to_owned).collect())
    }
}
