//! The environment inside a cage, and the directories it points to.
//!
//! Invariant: a caged child knows only what is listed here, what the operator passed on, and what it was given.

use crate::launch::Principal;
use crate::launch::environment::{Variables, set};
use rustix::fs::{CWD, Mode};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What passes through, besides `LC_*`.
const PASSED: [&str; 9] = ["PATH", "LANG", "TERM", "COLORTERM", "NO_COLOR", "TZ", "USER", "LOGNAME", "SHELL"];

/// One principal's own directories beneath `runtime-user-env/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEnvironment(PathBuf);

/// The redirected variables and their directories.
const REDIRECTED: [(&str, &str); 5] = [
    ("HOME", "home"),
    ("TMPDIR", "tmp"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_STATE_HOME", "state"),
];

impl UserEnvironment {
    /// The place of `principal` in the instance at `root`.
    pub fn of(root: &Path, principal: &Principal) -> Self {
        Self(root.join("runtime-user-env").join(principal.directory()))
    }

    /// The directory that holds the others.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the directories, for us alone; those that are there will do.
    pub fn prepare(&self) -> Result<(), rustix::io::Errno> {
        let missing: Vec<&Path> =
            self.0.ancestors().take_while(|path| rustix::fs::stat(*path).is_err()).collect();
        let below = REDIRECTED.map(|(_, directory)| self.0.join(directory));
        for path in missing.into_iter().rev().chain(below.iter().map(PathBuf::as_path)) {
            match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// The redirected variables.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        REDIRECTED.iter().map(|(name, directory)| (*name, self.0.join(directory)))
    }
}

/// The whole environment of a caged child. `writable` are places where the agent can put programs: they are no part
/// of its `PATH`.
pub fn caged(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    user: &UserEnvironment,
    pass: &[String],
    writable: &[PathBuf],
) -> Variables {
    let mut kept = Variables::new();
    for (name, value) in host {
        let text = name.to_string_lossy();
        if PASSED.contains(&text.as_ref())
            || text.starts_with("LC_")
            || pass.iter().any(|known| *known == text)
        {
            let value = if text == "PATH" { without_writable(&value, writable) } else { value };
            set(&mut kept, &name, value);
        }
    }
    for (name, path) in user.variables() {
        set(&mut kept, name, path);
    }
    kept
}

fn without_writable(path: &OsStr, writable: &[PathBuf]) -> OsString {
    let fixed =
        |entry: &PathBuf| entry.is_absolute() && !writable.iter().any(|place| entry.starts_with(place));
    std::env::join_paths(std::env::split_paths(path).filter(fixed)).unwrap_or_else(|_| "/usr/bin:/bin".into())
}
