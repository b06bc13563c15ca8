//! Zones of the file tree, as one agent sees them.
//!
//! Protected takes precedence over every other zone, and no setting removes a path from it.

use crate::intent::Access;
use crate::path::CleanPath;
use std::path::Path;

/// The Protected zone, which is closed to agents, and its exceptions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// Directory trees and single files: the instance, its configuration, other agents' workspaces.
    pub trees: Vec<CleanPath>,
    /// Trees within those that a rule may open for reading, never for writing: the shared skills.
    pub readable: Vec<CleanPath>,
}

/// The file tree as one agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// The workspace's paths: as configured, and with links resolved.
    pub workspace: Vec<CleanPath>,
    /// The Protected zone.
    pub protected: Protected,
}

impl Zones {
    /// The rest of `path` below the workspace, under any of its paths.
    pub fn in_workspace<'p>(&self, path: &'p CleanPath) -> Option<&'p Path> {
        self.workspace.iter().find_map(|name| path.below(name))
    }

    /// Whether `path` is Protected for this access.
    pub fn is_protected(&self, path: &CleanPath, access: Access) -> bool {
        if is_process(path.as_path()) {
            return true;
        }
        if self.in_workspace(path).is_some() {
            // The workspace lies inside the instance by default. Only what is protected inside it
            // counts.
            return self
                .protected
                .trees
                .iter()
                .any(|tree| self.in_workspace(tree).is_some() && path.below(tree).is_some());
        }
        let readable =
            access != Access::Write && self.protected.readable.iter().any(|tree| path.below(tree).is_some());
        !readable && self.protected.trees.iter().any(|tree| path.below(tree).is_some())
    }
}

/// `/proc/<pid>`, `/proc/self` and `/proc/thread-self`: memory, environment and open files of
/// processes.
fn is_process(path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix("/proc") else { return false };
    let Some(first) = rest.components().next() else { return false };
    let name = first.as_os_str().as_encoded_bytes();
    name == b"self" || name == b"thread-self" || name.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(path: &str) -> CleanPath {
        CleanPath::absolute(Path::new(path)).unwrap()
    }

    fn zones() -> Zones {
        Zones {
            workspace: vec![clean("/home/u/.picoclaw/workspace")],
            protected: Protected {
                trees: vec![
                    clean("/home/u/.picoclaw"),
                    clean("/srv/other"),
                    clean("/home/u/.picoclaw/workspace/pinned"),
                ],
                readable: vec![clean("/home/u/.picoclaw/skills")],
            },
        }
    }

    #[test]
    fn protected_wins_everywhere_but_in_the_own_workspace() {
        for (why, path, access, want) in [
            ("the configuration", "/home/u/.picoclaw/config.json", Access::Read, true),
            ("the instance itself", "/home/u/.picoclaw", Access::List, true),
            ("the own workspace lies in the instance", "/home/u/.picoclaw/workspace/a", Access::Write, false),
            ("a sibling whose name begins alike", "/home/u/.picoclaw/workspace-coder/a", Access::Read, true),
            (
                "a protected file inside the workspace",
                "/home/u/.picoclaw/workspace/pinned",
                Access::Read,
                true,
            ),
            ("another agent's workspace", "/srv/other/x", Access::Read, true),
            ("skills may be read", "/home/u/.picoclaw/skills/a/SKILL.md", Access::Read, false),
            ("skills may not be written", "/home/u/.picoclaw/skills/a/SKILL.md", Access::Write, true),
            ("a process", "/proc/1/environ", Access::Read, true),
            ("this process", "/proc/self/environ", Access::Read, true),
            ("the machine", "/proc/meminfo", Access::Read, false),
            ("elsewhere", "/etc/hosts", Access::Read, false),
        ] {
            assert_eq!(zones().is_protected(&clean(path), access), want, "{why}: `{path}`");
        }
    }
}
