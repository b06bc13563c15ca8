//! One look at this machine: what was seen once is not looked up again.
//!
//! A start asks for the same directories many times over. Within one start they are taken to stay what they are; whatever
//! is then shown in a cage is compared with what was judged, when it is mounted.
//!
//! Invariant: an answer names what was there at the first look, with every link resolved.

use crate::isolate::host::{Found, HostFiles, Kind, LiveHost};
use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What one start has seen; copies share it.
#[derive(Debug, Clone, Default)]
pub struct Survey(Arc<Mutex<Seen>>);

impl Survey {
    /// `path` with its links resolved; `None` when it leads nowhere.
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.find(path).map(|found| found.resolved)
    }

    /// What was seen before is forgotten, for a caller that has made something new.
    pub fn forget(&self) {
        self.seen().0.clear();
    }

    /// The same survey, which looks again for what was missing.
    pub fn found(&self) -> Self {
        self.seen().0.retain(|_, found| found.is_some());
        self.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostFiles for Survey {
    fn find(&self, path: &Path) -> Option<Found> {
        // A path with dots or slashes to spare means what the kernel makes of it.
        if is_plain(path) { self.seen().find(path, LINKS) } else { LiveHost.find(path) }
    }
}

/// As many links as the kernel follows for one path.
const LINKS: u32 = 40;

/// Whether a path is absolute, and made of names with one slash before each.
fn is_plain(path: &Path) -> bool {
    let Some(names) = path.as_os_str().as_bytes().strip_prefix(b"/") else { return false };
    names.is_empty() || !names.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b".."))
}

/// A plain path's directory and its last name; `None` for the top.
fn apart(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
    let (above, name) = (bytes.get(..slash.max(1))?, bytes.get(slash + 1..)?);
    (!name.is_empty()).then(|| (Path::new(OsStr::from_bytes(above)), OsStr::from_bytes(name)))
}

/// Paths by their bytes, and what they lead to.
#[derive(Debug)]
struct Seen(HashMap<OsString, Option<Found>>);

impl Default for Seen {
    fn default() -> Self {
        // As many as a start asks for, so that none is moved.
        Self(HashMap::with_capacity(112))
    }
}

impl Seen {
    fn find(&mut self, path: &Path, links: u32) -> Option<Found> {
        if let Some(known) = self.0.get(path.as_os_str()) {
            return known.clone();
        }
        let found = self.look(path, links);
        // Nothing at the end of many links may be something at the end of fewer.
        if found.is_some() || links == LINKS {
            self.0.insert(path.into(), found.clone());
        }
        found
    }

    fn look(&mut self, path: &Path, links: u32) -> Option<Found> {
        let Some((parent, name)) = apart(path) else {
            return Some(Found { resolved: path.to_owned(), kind: Kind::Directory });
        };
        let above = self.find(parent, links).filter(|above| above.kind == Kind::Directory)?;
        let mut resolved = above.resolved;
        resolved.push(name);
        let stat = statat(CWD, &resolved, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => self.follow(&resolved, links.checked_sub(1)?),
            FileType::Directory => Some(Found { resolved, kind: Kind::Directory }),
            _ => Some(Found { resolved, kind: Kind::File }),
        }
    }

    /// Where the link at `link` leads, whose own directory has no links in its name.
    fn follow(&mut self, link: &Path, links: u32) -> Option<Found> {
        let to = readlinkat(CWD, link, Vec::with_capacity(256)).ok()?;
        let to = Path::new(OsStr::from_bytes(to.to_bytes()));
        let mut here = Found { resolved: link.parent()?.to_owned(), kind: Kind::Directory };
        for part in to.components() {
            if here.kind != Kind::Directory {
                return None;
            }
            match part {
                Component::RootDir => here.resolved = PathBuf::from("/"),
                Component::Normal(name) => here = self.find(&here.resolved.join(name), links)?,
                Component::ParentDir => drop(here.resolved.pop()),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        // What is named with a slash or a dot at its end is a directory, or nothing.
        let bytes = to.as_os_str().as_bytes();
        let only_directory = bytes.ends_with(b"/") || bytes.ends_with(b"/.");
        (here.kind == Kind::Directory || !only_directory).then_some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_answers_what_a_fresh_look_would() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::File::create(top.join("a/file")).unwrap();
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("broken")).unwrap();
        std::os::unix::fs::symlink("loop", top.join("loop")).unwrap();
        for (to, link) in [
            ("link/b", "two"),
            ("./a/../link/./b", "dotted"),
            ("../../../../../../../../../../usr", "above-the-top"),
            ("a/file/", "file-as-directory"),
            ("a/file/..", "above-a-file"),
            ("a/b/.", "directory-with-a-dot"),
            ("/usr/bin", "absolute"),
            ("ping", "pong"),
            ("pong", "ping"),
        ] {
            std::os::unix::fs::symlink(to, top.join(link)).unwrap();
        }
        for depth in 0..45 {
            std::os::unix::fs::symlink(format!("long{}", depth + 1), top.join(format!("long{depth}")))
                .unwrap();
        }
        std::fs::File::create(top.join("long45")).unwrap();
        for (why, path) in [
            ("a directory", "a/b"),
            ("a file", "a/file"),
            ("a link to a directory", "link"),
            ("through a link", "link/b"),
            ("a file through a link", "link/file"),
            ("a link to nowhere", "broken"),
            ("a link to itself", "loop"),
            ("not there", "a/missing/deep"),
            ("a file is no directory", "a/file/x"),
            ("a link to a link", "two"),
            ("a link with dots", "dotted"),
            ("a link beyond the top", "above-the-top"),
            ("a file named as a directory", "file-as-directory"),
            ("through a file", "above-a-file"),
            ("a directory with a dot", "directory-with-a-dot"),
            ("an absolute link", "absolute"),
            ("through an absolute link", "absolute/env"),
            ("two links to each other", "ping"),
            ("forty links", "long5"),
            ("forty-one links", "long4"),
            ("a slash at the end", "a/b/"),
            ("a slash at the end of a file", "a/file/"),
            ("two slashes", "a//b"),
            ("dots", "a/../link/b"),
            ("dots through a link", "link/../a"),
        ] {
            let survey = Survey::default();
            for _twice in 0..2 {
                assert_eq!(survey.find(&top.join(path)), LiveHost.find(&top.join(path)), "{why}: `{path}`");
            }
        }
        let survey = Survey::default();
        assert_eq!(survey.find(&top.join("long4")), None, "too many links");
        assert!(survey.find(&top.join("long5")).is_some(), "what lies on that way is not taken for missing");
        assert_eq!(survey.find(Path::new("/")), LiveHost.find(Path::new("/")), "the top");
        assert_eq!(survey.find(Path::new("relative")), None, "nothing of the working directory");
    }
}
