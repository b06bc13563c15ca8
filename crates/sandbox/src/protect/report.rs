//! What became of the protected files while a child ran.

use super::lock_watch::LockWatch;
use super::scan::Scan;
use super::{Protection, Writable};
use crate::isolate::{HostEntryKind, IsolateError, MountReason, MountRule};
use crate::launch::Status;
use crate::os_file::Errno;
use crate::permit::OutcomeGuard;
use crate::printable;
use picoclaw_policy::config::ExposeMode;
use std::path::{Path, PathBuf};

/// The most files that are named to a person or a model.
const MAX_SHOWN: usize = 20;

/// The most files that are named in the audit log.
const MAX_RECORDED: usize = 1_000;

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
    /// Files that are new or changed, and which of the two, those nearest to the root first.
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
    /// Refuses a workspace that cannot be searched, though the child may write it. Any other
    /// directory was shown by the operator on purpose, for instance one to drop files in.
    pub(crate) fn check_roots(&self) -> Result<(), IsolateError> {
        for (root, scan) in self.protection.roots.iter().zip(&self.before) {
            let Some(errno) = scan.root_error else { continue };
            let path = root.source.clone();
            match errno {
                Errno::ACCESS if root.is_workspace => return Err(IsolateError::Closed { path }),
                Errno::ACCESS => {
                    let path = path.display();
                    tracing::warn!(target: "isolation", %path, "This directory cannot be searched; nothing in it is protected");
                }
                errno => return Err(IsolateError::NotSearched { path, source: errno.into() }),
            }
        }
        Ok(())
    }

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
        let line = report.line_of(MAX_RECORDED);
        outcome.settle_as(&line.map_or_else(|| status.clone(), |line| format!("{status}; {line}")));
        report
    }

    fn finish(self) -> Report {
        let Self { protection, before, locks } = self;
        let mut changed = Vec::new();
        for (root, before) in protection.roots.iter().zip(before) {
            let after = Scan::of(&root.source, &protection.rules);
            for (path, fingerprint) in &after.files {
                let how = match before.files.get(path) {
                    Some(known) if known == fingerprint => continue,
                    _ if after.closed.contains(path) => "cannot be searched",
                    None => "new",
                    Some(_) => "changed",
                };
                let text = format!("`{}` ({how})", name(root, path));
                changed.push((path.components().count(), text.len(), text));
            }
            if before.is_complete && !after.is_complete {
                changed.push((0, 0, "more than can be searched".to_owned()));
            }
        }
        // Many files with long names deep in the tree must not crowd out the one that matters.
        changed.sort();
        let refused = locks.map(LockWatch::refused).unwrap_or_default();
        Report { changed: changed.into_iter().map(|(_, _, text)| text).collect(), refused }
    }
}

/// A file as a person reads it: relative to the workspace, or as the cage shows it.
fn name(root: &Writable, path: &Path) -> String {
    let path = match root.is_workspace {
        true if path.as_os_str().is_empty() => PathBuf::from("."),
        true => path.to_owned(),
        false => root.target.join(path),
    };
    printable(&path.to_string_lossy()).into_owned()
}

impl Report {
    /// The changed files as one line, if there are any.
    pub fn line(&self) -> Option<String> {
        self.line_of(MAX_SHOWN)
    }

    fn line_of(&self, most: usize) -> Option<String> {
        let (named, rest) = self.changed.split_at(self.changed.len().min(most));
        let more = match rest.len() {
            0 => String::new(),
            more if most == MAX_SHOWN => format!(" and {more} more, which the audit log names"),
            more => format!(" and {more} more"),
        };
        let line = || format!("programs outside execute or obey what it wrote: {}{more}", named.join(", "));
        (!named.is_empty()).then(line)
    }
}
