//! What became of the protected files while a child ran.

use super::lock_watch::LockWatch;
use super::scan::Scan;
use super::{Protection, Writable};
use crate::isolate::{HostEntryKind, MountReason, MountRule};
use crate::launch::Status;
use crate::permit::OutcomeGuard;
use crate::printable;
use picoclaw_policy::config::ExposeMode;
use std::path::Path;

/// The most files that a report names.
const MAX_NAMED: usize = 8;

/// The protected files as they were before a child started.
#[derive(Debug)]
pub(crate) struct Watch {
    protection: Protection,
    before: Vec<Scan>,
    locks: Option<LockWatch>,
}

/// What became of the protected files.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Files that are new or changed, and which of the two.
    pub changed: Vec<String>,
    /// Files that git wanted to write, and could not.
    pub refused: Vec<String>,
}

impl Protection {
    /// Looks up the protected files, before a child starts.
    pub(crate) fn watch(&self) -> Watch {
        let before = self.roots.iter().map(|root| Scan::of(&root.source, &self.rules)).collect();
        Watch { protection: self.clone(), before, locks: None }
    }
}

impl Watch {
    /// The mounts that protect the files in a cage. Git's attempts to write are noticed from here on.
    pub(crate) fn mounts(&mut self) -> Vec<MountRule> {
        let (mut rules, mut locks) = (Vec::new(), Vec::new());
        for (root, scan) in self.protection.roots.iter().zip(&self.before) {
            for (path, (kind, mode)) in scan.mounts(&root.source, &self.protection.rules) {
                let (source, target) = (root.source.join(&path), root.target.join(&path));
                let is_locked = path.ends_with("config") || path.ends_with("config.worktree");
                if is_locked && mode == ExposeMode::ReadOnly && kind == HostEntryKind::File {
                    locks.push((source.clone(), name(root, &path)));
                }
                rules.push(MountRule::Bind { source, target, mode, kind, reason: MountReason::Protected });
            }
        }
        self.locks = LockWatch::new(locks);
        rules
    }

    /// Compares, after the child has ended, and records its outcome with what was found.
    pub(crate) fn settle(self, outcome: OutcomeGuard, status: Status) -> Report {
        let report = self.finish();
        let status = status.outcome_text();
        outcome.settle_as(&report.line().map_or_else(|| status.clone(), |line| format!("{status}; {line}")));
        report
    }

    fn finish(self) -> Report {
        let Self { protection, before, locks } = self;
        let mut report = Report::default();
        for (root, before) in protection.roots.iter().zip(before) {
            let after = Scan::of(&root.source, &protection.rules);
            for (path, fingerprint) in &after.files {
                let how = match before.files.get(path) {
                    None => "new",
                    Some(known) if known != fingerprint => "changed",
                    Some(_) => continue,
                };
                report.changed.push(format!("`{}` ({how})", name(root, path)));
            }
            if before.is_complete && !after.is_complete {
                report.changed.push("more than can be searched".to_owned());
            }
        }
        report.refused = locks.map(LockWatch::refused).unwrap_or_default();
        report
    }
}

/// A file as a person reads it: relative to the workspace, or as the cage shows it.
fn name(root: &Writable, path: &Path) -> String {
    let path = if root.is_workspace { path.to_owned() } else { root.target.join(path) };
    printable(&path.to_string_lossy()).into_owned()
}

impl Report {
    /// The changed files as one line, if there are any.
    pub fn line(&self) -> Option<String> {
        let (named, rest) = self.changed.split_at(self.changed.len().min(MAX_NAMED));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let line = || format!("programs outside execute or obey what it wrote: {}{more}", named.join(", "));
        (!named.is_empty()).then(line)
    }
}
