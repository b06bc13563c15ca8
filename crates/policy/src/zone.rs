//! Regions of the file tree, seen by one agent.
//!
//! Invariant: Protected wins over every other zone, and nothing in a configuration takes a path out of it.

use crate::intent::Access;
use crate::path::CleanPath;
use std::path::Path;

/// A named region of the file tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// The agent's own workspace.
    Workspace,
    /// Elsewhere, opened by this rule.
    Outside(String),
    /// Never an agent's: configuration, secrets, ledger, sessions, other agents' workspaces.
    Protected,
}

/// What no agent may touch, and the few exceptions within.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// Whole trees and single files: the instance, its configuration, other agents' workspaces.
    pub trees: Vec<CleanPath>,
    /// Trees inside those that may be read, by rule, but never written: the shared skills.
    pub readable: Vec<CleanPath>,
}

/// The tree as one agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// The workspace's names: as configured, and with its links resolved.
    pub workspace: Vec<CleanPath>,
    /// What is never this agent's.
    pub protected: Protected,
}

impl Zones {
    /// What is left of `path` below the workspace, under whichever of its names.
    pub fn in_workspace<'p>(&self, path: &'p CleanPath) -> Option<&'p Path> {
        self.workspace.iter().find_map(|name| path.below(name))
    }

    /// Whether `path` is Protected for this use.
    pub fn is_protected(&self, path: &CleanPath, access: Access) -> bool {
        if is_process(path.as_path()) {
            return true;
        }
        if self.in_workspace(path).is_some() {
            // A workspace lies inside the instance by default; only what is protected *inside* it still counts.
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

/// `/proc/<pid>`, `/proc/self` and `/proc/thread-self`: other processes' memory, environment and open files.
fn is_process(path: &Path) -> bool {
    // Every path is asked, and hardly any lies there: a look at the text saves taking it apart.
    if !path.as_os_str().as_encoded_bytes().starts_with(b"/proc") {
        return false;
    }
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
