//! One look at this machine: what was seen once is not looked up again.
//!
//! A start asks for the same directories many times over. Within one start they are taken to stay what they are; whatever
//! is then shown in a cage is compared with what was judged, when it is mounted.
//!
//! Invariant: an answer names what was there at the first look, with every link resolved.

use crate::isolate::host::{Found, HostFiles, Kind, LiveHost};
use crate::isolate::layout::Version;
use crate::isolate::seen::Seen;
use picoclaw_sys::linux::mount::Identity;
use std::path::{Path, PathBuf};
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
        self.seen().clear();
    }

    /// The same survey, which looks again for what was missing.
    pub fn found(&self) -> Self {
        self.seen().clear_missing();
        self.clone()
    }

    /// Who lies at `path`, without a link on the way; `None` where that must be looked up anew.
    ///
    /// What lies beneath directories that others can write is: between two looks of a survey somebody may have put a link
    /// in place of a directory, and then both the survey and the child would follow it. Where every directory on the way
    /// is the administrator's alone, only a process of the administrator's has; whoever asks knows that no child can be
    /// that process: the system's own directories are written by no child, but by an operator's express word.
    pub(super) fn identity(&self, path: &Path) -> Option<Identity> {
        self.seen().identity(path)
    }

    /// Which version of a small public file lay at `path`; `None` where that must be looked up anew.
    pub(super) fn version(&self, path: &Path) -> Option<Version> {
        self.seen().version(path)
    }

    /// Whether `path` leads to a directory.
    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        let seen = self.seen().kind(path);
        seen.unwrap_or_else(|_| LiveHost.find(path).map(|found| found.kind)) == Some(Kind::Directory)
    }

    /// The permissions of what `path` leads to; `None` where that must be looked up anew.
    pub(crate) fn mode(&self, path: &Path) -> Option<u16> {
        self.seen().mode(path)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostFiles for Survey {
    fn find(&self, path: &Path) -> Option<Found> {
        let seen = self.seen().find(path);
        // A path with dots or slashes to spare means what the kernel makes of it.
        seen.unwrap_or_else(|_| LiveHost.find(path))
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

    #[test]
    fn an_identity_is_remembered_only_where_nobody_can_have_changed_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("a")).unwrap();
        let survey = Survey::default();
        for (why, path, remembered) in [
            ("directly at the top", Path::new("/usr"), true),
            ("in a directory of the system's", Path::new("/usr/lib"), true),
            ("never asked for", Path::new("/usr/bin"), false),
            ("with dots", Path::new("/usr/lib/../bin"), false),
            ("where everybody writes", &top.join("a"), false),
        ] {
            if why != "never asked for" {
                assert!(survey.find(path).is_some(), "{why}: `{}`", path.display());
            }
            let live = rustix::fs::lstat(path).unwrap();
            let want = remembered.then_some(Identity { device: live.st_dev, inode: live.st_ino });
            assert_eq!(survey.identity(path), want, "{why}: `{}`", path.display());
        }
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        assert!(survey.find(&top.join("link")).is_some());
        assert_eq!(survey.identity(&top.join("link")), None, "a link is nobody");
    }

    #[test]
    fn the_version_of_a_file_is_that_of_the_look() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().canonicalize().unwrap().join("file");
        let survey = Survey::default();
        assert_eq!(survey.version(&file), None, "not there");
        for text in ["first", "second and longer"] {
            #[expect(clippy::disallowed_methods, reason = "a test changes files from outside the rooms")]
            std::fs::write(&file, text).unwrap();
            rustix::fs::chmod(&file, rustix::fs::Mode::from_raw_mode(0o644)).unwrap();
            survey.forget();
            assert!(survey.find(&file).is_some());
            let live = Version::of(&rustix::fs::lstat(&file).unwrap());
            assert!(live.is_some() && survey.version(&file) == live, "{text}");
        }
    }

    #[test]
    fn what_was_missing_is_looked_up_again_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().canonicalize().unwrap().join("new");
        let survey = Survey::default();
        assert_eq!(survey.find(&new), None);
        std::fs::create_dir(&new).unwrap();
        assert_eq!(survey.find(&new), None, "as it was at the first look");
        assert_eq!(survey.found().find(&new), LiveHost.find(&new));
    }
}
