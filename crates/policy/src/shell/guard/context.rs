//! The guard's inputs. A judgement depends on nothing else.

use crate::intent::{FileKind, LinkOwner};
use crate::path::CleanPath;
use crate::path_rules::PathRules;
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::zone::Zones;

/// What confines the child besides the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Confinement {
    /// Nothing: what the guard allows takes effect.
    Nothing,
    /// The write fence: writes outside are stopped, reads are not.
    Fence,
    /// The cage, or the full fence: the kernel refuses paths outside.
    Cage,
}

impl Confinement {
    /// Whether the kernel refuses what the text of a command does not show: reads and writes
    /// outside.
    pub fn holds_paths(self) -> bool {
        self == Self::Cage
    }
}

/// Where, and under which rules, a command would run.
#[derive(Clone, Copy)]
pub struct GuardContext<'a> {
    /// The file tree as the agent sees it.
    pub zones: &'a Zones,
    /// Rules that allow reading outside the workspace.
    pub read_rules: &'a PathRules,
    /// Rules that allow writing outside the workspace.
    pub write_rules: &'a PathRules,
    /// The reach of paths: [`Reach::Workspace`] if `restrict_to_workspace` is on.
    pub reach: Reach,
    /// What confines the child.
    pub confinement: Confinement,
    /// The working directory.
    pub cwd: &'a CleanPath,
    /// The child's `HOME`.
    pub home: Option<&'a CleanPath>,
    /// The command's own directories beside the workspace, as named and with links resolved: its
    /// home, caches, settings and temporary files, where the kernel lets it write there and nowhere
    /// near it.
    pub own: &'a [CleanPath],
    /// Whether the shell reads the text from its standard input.
    pub script_is_input: bool,
    /// The shell's dialect.
    pub dialect: Dialect,
    /// Lookups in the file system.
    pub file_system: &'a dyn FileSystem,
}

/// Where a path leads when every existing link is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The resolved path.
    pub path: CleanPath,
    /// Who could have created the links; [`LinkOwner::System`] if there are none.
    pub links: LinkOwner,
}

/// Read-only lookups in the file system.
pub trait FileSystem {
    /// Follows every existing link of `path`. Components that do not exist stay as they are.
    fn resolve(&self, path: &CleanPath) -> Resolved;

    /// What is there.
    fn kind(&self, path: &CleanPath) -> FileKind;

    /// The names in a directory; `None` if it cannot be listed.
    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>>;

    /// Whether this is a program in a directory of the child's `PATH`.
    fn on_path(&self, path: &CleanPath) -> bool;
}

/// A file system without links and listings, with the usual `PATH`.
///
/// For judging a text alone: links aside, what it refuses, every real file system refuses too.
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
