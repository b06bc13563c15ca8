//! What became of the protected files while a child ran.

use super::lock_watch::LockWatch;
use super::scan::{Fingerprint, Rank, Scan};
use super::{Protection, Writable};
use crate::isolate::{HostEntryKind, IsolateError, MountReason, MountRule};
use crate::launch::Status;
use crate::os_file::Errno;
use crate::permit::OutcomeGuard;
use crate::shell_word;
use picoclaw_policy::config::ExposeMode;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The most entries of the list that are named to a person or a model: one of each kind, and more.
const MAX_SHOWN: usize = 40;

/// The most entries of the list that are named in the audit log.
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
    /// Entries of the list in which files are new or changed: the file, or how many they are.
    pub changed: Vec<String>,
    /// Files that git wanted to write, and could not.
    pub refused: Vec<String>,
}

impl Protection {
    /// Looks up the protected files, before a child starts.
    pub(crate) fn watch(&self) -> Watch {
        let before = self.roots.iter().map(|root| Scan::of(&root.source, &self.rules, &self.home));
        let before = before.collect();
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

    /// The mounts that protect the files in a cage. Git's attempts to write are noticed from here
    /// on.
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

    /// The protected entries that `changed` name or lie in, or that `removed` contain, as
    /// `--unprotect` takes them. What a whole directory contains of a git directory is named by
    /// that.
    pub(crate) fn entries_at(&self, changed: &[PathBuf], removed: &[PathBuf]) -> BTreeSet<String> {
        let mut entries = BTreeSet::new();
        for (root, scan) in self.protection.roots.iter().zip(&self.before) {
            for (path, (_, mode)) in scan.mounts(&root.source, &self.protection.rules) {
                let target = root.target.join(&path);
                let is_within = removed.iter().any(|named| target.starts_with(named));
                let is_named = changed.iter().any(|named| named.starts_with(&target));
                if mode == ExposeMode::ReadOnly && (is_named || is_within) {
                    let git_dir =
                        path.ancestors().find(|above| above.ends_with(".git")).filter(|_| !is_named);
                    entries.insert(name(root, git_dir.unwrap_or(&path)));
                }
            }
        }
        entries
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
        let (mut changed, mut changed_names) = (Vec::new(), BTreeSet::new());
        for (root, before) in protection.roots.iter().zip(before) {
            let after = Scan::of(&root.source, &protection.rules, &protection.home);
            let mut entries: BTreeMap<&Path, Vec<(&Path, &str)>> = BTreeMap::new();
            for (path, fingerprint) in &after.files {
                let how = match before.files.get(path) {
                    Some(known) if known == fingerprint => continue,
                    _ if after.closed.contains(path) => "cannot be searched",
                    // It was emptied.
                    None if *fingerprint == Fingerprint::default() && before.has_entry(path) => continue,
                    None => "new",
                    Some(_) => "changed",
                };
                changed_names.insert(name(root, path));
                entries.entry(after.entry_of(path).0).or_default().push((path, how));
            }
            let is_gone = |path: &&PathBuf, known: &Fingerprint| {
                after.is_complete && *known != Fingerprint::default() && !after.files.contains_key(*path)
            };
            let removed =
                before.files.iter().filter(|(path, known)| is_gone(path, known)).map(|(path, _)| path);
            for path in removed {
                entries.entry(before.entry_of(path).0).or_default().push((path, "removed"));
            }
            changed.extend(entries.into_iter().map(|(entry, files)| {
                let text = match *files {
                    [(path, how)] => format!("`{}` ({how})", name(root, path)),
                    _ => format!("`{}` ({} files)", name(root, entry), files.len()),
                };
                Changed::new(after.entry_of(entry).1, entry, text)
            }));
            for (path, link) in &after.links {
                let how = match before.links.get(path) {
                    Some(known) if known.fingerprint == link.fingerprint => continue,
                    Some(_) => "changed",
                    None => "new",
                };
                let (rank, out) =
                    if link.leads_out { (Rank::LinkOut, " that leads out") } else { (Rank::LinkInside, "") };
                let text = format!("`{}` ({how} link{out}: git writes through it)", name(root, path));
                changed.push(Changed::new(rank, path, text));
            }
            let exceeds = |scan: &Scan| scan.exceeds_mounts(&root.source, &protection.rules);
            for (is_new, text) in [
                (
                    before.is_complete && !after.is_complete || before.has_all_links && !after.has_all_links,
                    "more than can be searched",
                ),
                (exceeds(&after) && !exceeds(&before), "more than can be protected"),
            ] {
                changed
                    .extend(is_new.then(|| Changed::new(Rank::Configured, Path::new(""), text.to_owned())));
            }
        }
        // A program outside may have replaced a file, and the mount over it is gone then.
        let mut refused = locks.map(LockWatch::refused).unwrap_or_default();
        refused.retain(|file| !changed_names.contains(file));
        Report { changed: in_order(changed), refused }
    }
}

/// An entry of the list with new or changed files. The order is that of the report, within a rank.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Changed {
    rank: Rank,
    depth: usize,
    /// Names like those of a git directory are cheap.
    is_outside_dot_git: bool,
    length: usize,
    text: String,
}

impl Changed {
    fn new(rank: Rank, entry: &Path, text: String) -> Self {
        let is_outside_dot_git = !entry.iter().any(|name| name == ".git");
        Self { rank, depth: entry.components().count(), is_outside_dot_git, length: text.len(), text }
    }
}

/// The nearest of each rank, then the next of each: many entries of one kind must not crowd out the
/// one that matters.
fn in_order(mut changed: Vec<Changed>) -> Vec<String> {
    changed.sort();
    let mut counts: BTreeMap<Rank, usize> = BTreeMap::new();
    let numbered = changed.into_iter().map(|entry| {
        let count = counts.entry(entry.rank).or_default();
        *count += 1;
        (*count, entry)
    });
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort();
    numbered.into_iter().map(|(_, entry)| entry.text).collect()
}

/// A file as a person reads it, and may give it to `--unprotect`: relative to the workspace, or as
/// the cage shows it.
fn name(root: &Writable, path: &Path) -> String {
    let path = match root.is_workspace {
        true if path.as_os_str().is_empty() => PathBuf::from("."),
        true => path.to_owned(),
        false => root.target.join(path),
    };
    shell_word(&path.to_string_lossy())
}

impl Report {
    /// What was changed as one line, if anything was.
    pub fn line(&self) -> Option<String> {
        self.line_of(MAX_SHOWN)
    }

    fn line_of(&self, most: usize) -> Option<String> {
        let (named, rest) = self.changed.split_at(self.changed.len().min(most));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let line = || format!("programs outside execute or obey what it wrote: {}{more}", named.join(", "));
        (!named.is_empty()).then(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::ProtectRules;

    #[test]
    fn a_workspace_that_cannot_be_searched_is_refused() {
        let rules = ProtectRules::default();
        let check = |path: &Path, rules: &ProtectRules| {
            Protection::of_workspace(path, rules, Path::new("/")).watch().check_roots()
        };
        let path = PathBuf::from("/").join("x".repeat(300));
        assert!(matches!(check(&path, &rules), Err(IsolateError::NotSearched { .. })), "ENAMETOOLONG");
        assert!(check(&path, &ProtectRules::new(Vec::new())).is_ok(), "nothing is protected");
        let mut without = rules.clone();
        without.unprotect(&path);
        assert!(check(&path, &without).is_ok(), "nothing is protected there");
        assert!(check(Path::new("/nonexistent"), &rules).is_ok(), "ENOENT: nothing to protect");
    }
}
