//! Path lookups on the host, behind a trait so that plans can be made for a host that is only data.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Symbolic links that are followed in one path.
const MAX_LINKS: usize = 40;

/// What a path of the host leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Its path with all links resolved.
    pub resolved: PathBuf,
    /// What it is.
    pub kind: HostEntryKind,
}

/// Whether an entry is mounted on a directory or on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntryKind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// The host's files as a plan sees them.
pub trait HostFiles {
    /// What `path` leads to; `None` when it does not resolve.
    fn find(&self, path: &Path) -> Option<HostEntry>;

    /// Where the symbolic links lie that `path` leads through.
    fn links(&self, path: &Path) -> Vec<PathBuf>;
}

/// The files of this machine, looked up at each call.
#[derive(Debug, Clone, Copy)]
pub struct LiveHost;

impl HostFiles for LiveHost {
    fn find(&self, path: &Path) -> Option<HostEntry> {
        let resolved = std::fs::canonicalize(path).ok()?;
        let is_directory = resolved.metadata().ok()?.is_dir();
        let kind = if is_directory { HostEntryKind::Directory } else { HostEntryKind::File };
        Some(HostEntry { resolved, kind })
    }

    fn links(&self, path: &Path) -> Vec<PathBuf> {
        follow(path).0
    }
}

/// The symbolic links that a path leads through, and where it ends.
pub(crate) fn follow(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let (mut links, mut at) = (Vec::new(), PathBuf::from("/"));
    let mut rest = components(path);
    while let Some(part) = rest.pop() {
        if part.as_os_str() == ".." {
            at.pop();
            continue;
        }
        at.push(part);
        if let Some(target) = std::fs::read_link(&at).ok().filter(|_| links.len() < MAX_LINKS) {
            links.push(at.clone());
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(components(&target));
        }
    }
    (links, at)
}

/// The components of a path, the last one first.
fn components(path: &Path) -> Vec<PathBuf> {
    let normal = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = normal.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}

impl HostFiles for BTreeMap<PathBuf, HostEntry> {
    fn find(&self, path: &Path) -> Option<HostEntry> {
        self.get(path).cloned()
    }

    /// Every part of the path that resolves to something else.
    fn links(&self, path: &Path) -> Vec<PathBuf> {
        let is_link = |above: &&Path| self.get(*above).is_some_and(|entry| entry.resolved != **above);
        path.ancestors().filter(is_link).map(Path::to_owned).collect()
    }
}
