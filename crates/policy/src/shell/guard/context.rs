//! What a command is judged against: the facts that whoever asks brings along.
//!
//! Invariant: the guard looks at nothing but its [`GuardContext`]; two equal scenes earn equal judgements.

use crate::intent::{FileKind, LinkOwner};
use crate::path::CleanPath;
use crate::path_rules::PathRules;
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::zone::Zones;

/// What holds the child besides the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Confinement {
    /// Nothing: what the guard lets through happens.
    Nothing,
    /// The write fence: writes outside are stopped, reads are not.
    Fence,
    /// The cage: what is outside is not there.
    Cage,
}

/// Where and under which rules a command would run.
#[derive(Clone, Copy)]
pub struct GuardContext<'a> {
    /// The tree as the agent sees it.
    pub zones: &'a Zones,
    /// Rules that open paths for reading.
    pub read_rules: &'a PathRules,
    /// Rules that open paths for writing.
    pub write_rules: &'a PathRules,
    /// How far paths reach: [`Reach::Workspace`] while `restrict_to_workspace` is on.
    pub reach: Reach,
    /// What holds the child.
    pub confinement: Confinement,
    /// The working directory.
    pub cwd: &'a CleanPath,
    /// The home that the child will see.
    pub home: Option<&'a CleanPath>,
    /// The shell that will run it.
    pub dialect: Dialect,
    /// The file system as it is now.
    pub file_system: &'a dyn FileSystem,
}

/// Where a path leads when every link that exists now is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The place.
    pub path: CleanPath,
    /// Who could have made the links on the way; [`LinkOwner::System`] when there are none.
    pub links: LinkOwner,
}

/// The facts of the file system, looked up by whoever may look.
pub trait FileSystem {
    /// Follows every link of `path` that exists now; what does not exist stays as it is.
    fn resolve(&self, path: &CleanPath) -> Resolved;

    /// What is there.
    fn kind(&self, path: &CleanPath) -> FileKind;

    /// The names in a directory; `None` when nobody can say.
    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>>;

    /// Whether this is a program in a directory of the child's `PATH`.
    fn on_path(&self, path: &CleanPath) -> bool;
}

/// A file system without links, where nothing can be listed and the usual directories are the `PATH`.
///
/// For judging a text alone: what it refuses, every real file system refuses too, links aside.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFileSystem;

impl FileSystem for NoFileSystem {
    fn resolve(&self, path: &CleanPath) -> Resolved {
        Resolved { path: path.clone(), links: LinkOwner::System }
    }

    fn kind(&self, _path: &CleanPath) -> FileKind {
        FileKind::Missing
    }

    fn entries(&self, _dir: &CleanPath) -> Option<Vec<String>> {
        None
    }

    fn on_path(&self, path: &CleanPath) -> bool {
        let dir = path.as_path().parent().and_then(std::path::Path::to_str);
        dir.is_some_and(|dir| ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"].contains(&dir))
    }
}
