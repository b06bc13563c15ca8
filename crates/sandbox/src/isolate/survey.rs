//! One look at this machine: what was seen once is not looked up again.
//!
//! A start asks for the same directories many times over. Within one start they are taken to stay what they are; whatever
//! is then shown in a cage is compared with what was judged, when it is mounted.
//!
//! Invariant: an answer names what was there at the first look, with every link resolved.

use crate::isolate::host::{Found, HostFiles, Kind, LiveHost};
use rustix::fs::{AtFlags, CWD, FileType};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What one start has seen; copies share it.
#[derive(Debug, Clone, Default)]
pub struct Survey(Arc<Mutex<BTreeMap<OsString, Option<Found>>>>);

impl Survey {
    /// `path` with its links resolved; `None` when it leads nowhere.
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.find(path).map(|found| found.resolved)
    }

    /// What was seen before is forgotten, for a caller that has made something new.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A survey of its own that knows what this one has found, and looks again for what was missing.
    pub fn found(&self) -> Self {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = seen.iter().filter(|(_, found)| found.is_some());
        Self(Arc::new(Mutex::new(found.map(|(path, found)| (path.clone(), found.clone())).collect())))
    }

    fn seen(&self, path: &Path) -> Option<Option<Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path.as_os_str()).cloned()
    }

    fn look(&self, path: &Path) -> Option<Found> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return (path == Path::new("/"))
                .then(|| Found { resolved: path.to_owned(), kind: Kind::Directory });
        };
        let at = self.find(parent).filter(|above| above.kind == Kind::Directory)?.resolved.join(name);
        let stat = rustix::fs::statat(CWD, &at, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => LiveHost.find(&at),
            FileType::Directory => Some(Found { resolved: at, kind: Kind::Directory }),
            _ => Some(Found { resolved: at, kind: Kind::File }),
        }
    }
}

impl HostFiles for Survey {
    fn find(&self, path: &Path) -> Option<Found> {
        if let Some(seen) = self.seen(path) {
            return seen;
        }
        // A path with dots means what the kernel makes of it.
        let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(plain) {
            return LiveHost.find(path);
        }
        let found = self.look(path);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), found.clone());
        found
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
        let survey = Survey::default();
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
            ("dots", "a/../link/b"),
            ("dots through a link", "link/../a"),
        ] {
            for _twice in 0..2 {
                assert_eq!(survey.find(&top.join(path)), LiveHost.find(&top.join(path)), "{why}: `{path}`");
            }
        }
        assert_eq!(survey.find(Path::new("/")), LiveHost.find(Path::new("/")), "the top");
        assert_eq!(survey.find(Path::new("relative")), None, "nothing of the working directory");
    }
}
