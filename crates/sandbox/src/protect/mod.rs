//! Protected files of a workspace: what programs outside the cage execute or obey later.
//!
//! Before a child starts, the files on the list of `isolation.protect` are looked up. In a cage
//! they become read-only mounts; everywhere, those that are new or changed at the child's end are
//! reported.

mod git_config;
mod git_index;
#[cfg_attr(not(target_os = "linux"), path = "no_lock_watch.rs")]
mod lock_watch;
mod report;
mod scan;

pub use report::Report;
pub(crate) use report::Watch;

use crate::isolate::{MountReason, MountRule, Plan};
use picoclaw_policy::ProtectRules;
use picoclaw_policy::config::ExposeMode;
use std::path::{Path, PathBuf};

/// Where a child may write, and what is protected there.
#[derive(Debug, Clone)]
pub(crate) struct Protection {
    rules: ProtectRules,
    roots: Vec<Writable>,
    /// The operator's home, which git's configuration names `~`.
    home: PathBuf,
}

/// A directory of the host that a child may write.
#[derive(Debug, Clone)]
struct Writable {
    source: PathBuf,
    /// Its path in the cage.
    target: PathBuf,
    is_workspace: bool,
}

impl Writable {
    /// Whether the files of `other` are among its own, under the same names.
    fn contains(&self, other: &Self) -> bool {
        match (other.source.strip_prefix(&self.source), other.target.strip_prefix(&self.target)) {
            (Ok(source), Ok(target)) => source == target && !source.as_os_str().is_empty(),
            _ => false,
        }
    }
}

impl Protection {
    /// For a child in a cage: its workspace, and what `expose_paths` shows read-write.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
    pub(crate) fn of_plan(plan: &Plan, rules: &ProtectRules, home: &Path) -> Self {
        let roots = plan.mounts.iter().filter_map(|rule| match rule {
            MountRule::Bind {
                source,
                target,
                mode: ExposeMode::ReadWrite,
                reason: reason @ (MountReason::Workspace | MountReason::Configured),
                ..
            } => {
                let is_workspace = *reason == MountReason::Workspace;
                Some(Writable { source: source.clone(), target: target.clone(), is_workspace })
            }
            _ => None,
        });
        let all: Vec<_> = roots.collect();
        let roots = all.iter().filter(|root| !all.iter().any(|other| other.contains(root))).cloned();
        Self { rules: rules.clone(), roots: roots.collect(), home: home.to_owned() }
    }

    /// For a child without a cage.
    pub(crate) fn of_workspace(workspace: &Path, rules: &ProtectRules, home: &Path) -> Self {
        let root =
            Writable { source: workspace.to_owned(), target: workspace.to_owned(), is_workspace: true };
        Self { rules: rules.clone(), roots: vec![root], home: home.to_owned() }
    }

    /// Nothing.
    pub(crate) fn none() -> Self {
        Self { rules: ProtectRules::new(Vec::new()), roots: Vec::new(), home: PathBuf::new() }
    }
}
