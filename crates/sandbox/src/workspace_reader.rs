//! Reads the instructions, notes and skills in an agent's workspace for the program itself.
//!
//! No call asks for these, so there is no permit. Agents write in their workspaces, so a name there may be a link or another
//! name of something Protected: every path is resolved beneath the directory's handle, as the path of a call would be.

use crate::instance::Created;
use crate::root::{
    EntryKind, More, Overwrite, Page, Place, ProtectedInodes, Root, RootError, Span, WriteContext,
};
use picoclaw_policy::{Access, FileKind, PathLocation, Zones};
use std::path::Path;

/// The most names that are read from one directory.
const MAX_NAMES: usize = 1_000;

/// A directory to read from.
#[derive(Debug)]
pub struct WorkspaceReader {
    root: Root,
    seals: ProtectedInodes,
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPrefix {
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether the file goes on.
    pub more: More,
}

impl WorkspaceReader {
    /// For an agent's workspace. What is Protected from that agent is not read here either.
    pub fn for_agent(zones: &Zones) -> Result<Self, RootError> {
        let name = zones.workspace.first().map_or(Path::new(""), |path| path.as_path());
        Ok(Self { root: Root::open(name)?, seals: ProtectedInodes::of(zones) })
    }

    /// For a directory of the operator.
    pub fn for_operator(dir: &Path) -> Result<Self, RootError> {
        Ok(Self { root: Root::open(dir)?, seals: ProtectedInodes::default() })
    }

    /// The first `max` bytes of a file; `None` when there is none.
    pub fn read(&self, path: &str, max: usize) -> Result<Option<TextPrefix>, RootError> {
        let Some(place) = self.locate(path, Access::Read)? else { return Ok(None) };
        let excerpt = place.read(Span { offset: 0, length: max })?;
        Ok(Some(TextPrefix {
            text: String::from_utf8_lossy(&excerpt.bytes).into_owned(),
            more: excerpt.more,
        }))
    }

    /// Creates a file, unless it exists.
    pub fn create(&self, path: &str, text: &str, scribe: &WriteContext) -> Result<Created, RootError> {
        let place = self.root.locate(Path::new(path), Access::Write, &self.seals)?;
        if place.landing() != PathLocation::Workspace {
            return Err(RootError::Escapes { path: place.asked() });
        }
        Created::from_write(place.write(text.as_bytes(), Overwrite::No, scribe))
    }

    /// The names of the directories in a directory; none when it does not exist.
    pub fn directories(&self, path: &str) -> Result<Vec<String>, RootError> {
        let Some(place) = self.locate(path, Access::List)? else { return Ok(Vec::new()) };
        let listing = place.list(Page { offset: 0, limit: MAX_NAMES })?;
        let directories = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
        Ok(directories.filter_map(|entry| entry.name.to_str()).map(str::to_owned).collect())
    }

    /// A place within the directory; `None` when nothing is there.
    fn locate(&self, path: &str, access: Access) -> Result<Option<Place>, RootError> {
        let place = self.root.locate(Path::new(path), access, &self.seals)?;
        match place.landing() {
            PathLocation::Workspace => Ok(Some(place).filter(|place| place.kind() != FileKind::Missing)),
            _ => Err(RootError::Escapes { path: place.asked() }),
        }
    }
}
