//! The environment variables of a caged child, and the directories they name.
//!
//! Invariant: a variable of the host passes only if it is listed here or in `isolation.env.pass`.

use crate::isolate::host_files::HostEntryKind;
use crate::isolate::windows_rules;
use crate::launch::Principal;
use crate::launch::environment::{Variables, is_secret_name, set};
use crate::os_file::{CWD, Errno, Mode, O_PATH, OFlags, mkdirat, open_to_owner, openat};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Variables that pass, besides `LC_*`.
const PASSED_VARIABLES: [&str; 9] =
    ["PATH", "LANG", "TERM", "COLORTERM", "NO_COLOR", "TZ", "USER", "LOGNAME", "SHELL"];

/// The directories of one principal beneath `runtime-user-env/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEnvironment(PathBuf);

/// Redirected variables and their directories; on Windows
/// [`windows_rules`](crate::isolate::windows_rules) has them.
const REDIRECTED: [(&str, &str); 5] = [
    ("HOME", "home"),
    ("TMPDIR", "tmp"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_STATE_HOME", "state"),
];

impl UserEnvironment {
    /// Those of `principal` in the instance at `root`.
    pub fn of(root: &Path, principal: &Principal) -> Self {
        Self(root.join("runtime-user-env").join(principal.directory()))
    }

    /// Their common parent.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates the missing ones, open to their owner alone, and opens those that a child closed.
    pub fn prepare(&self) -> io::Result<()> {
        let above = self.0.ancestors().skip(1);
        let missing: Vec<&Path> = above.take_while(|path| path.metadata().is_err()).collect();
        let own = [vec![self.0.clone()], self.directories()].concat();
        for path in missing.into_iter().rev().chain(own.iter().map(PathBuf::as_path)) {
            match mkdirat(CWD, path, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            if path.starts_with(&self.0) {
                // Where this fails, so does what needs the directory.
                let _ = open_to_owner(CWD, path);
            }
        }
        Ok(())
    }

    /// Labels them low, so that confined children may write there.
    #[cfg(windows)]
    pub fn label_low(&self) -> io::Result<()> {
        let writable = windows_rules::writable_directories(&self.0);
        writable.iter().try_for_each(|path| crate::isolate::windows::label_low(path))
    }

    /// The directories, parents first.
    fn directories(&self) -> Vec<PathBuf> {
        if cfg!(windows) {
            return windows_rules::directories(&self.0);
        }
        REDIRECTED.map(|(_, directory)| self.0.join(directory)).to_vec()
    }

    /// Makes a place for a mount at `place` in the child's home, and returns its path.
    pub fn mount_point(&self, place: &Path, kind: HostEntryKind) -> Result<PathBuf, Errno> {
        self.make(place, kind, "")
    }

    /// Makes a file with this text in the child's home, unless there is one.
    pub fn new_file(&self, place: &Path, text: &str) -> Result<PathBuf, Errno> {
        self.make(place, HostEntryKind::File, text)
    }

    /// The child owns its home, so no link is followed there.
    fn make(&self, place: &Path, kind: HostEntryKind, text: &str) -> Result<PathBuf, Errno> {
        let directory = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = Path::new("home").join(place);
        let mut above = openat(CWD, &self.0, directory, Mode::empty())?;
        let name = match kind {
            HostEntryKind::Directory => None,
            HostEntryKind::File => place.file_name(),
        };
        let directories = if name.is_some() { place.parent().unwrap_or(&place) } else { &place };
        for component in directories {
            match mkdirat(&above, component, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            let _ = open_to_owner(&above, Path::new(component));
            above = openat(&above, component, directory, Mode::empty())?;
        }
        if let Some(name) = name {
            let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            match openat(&above, name, new, Mode::RUSR | Mode::WUSR) {
                Ok(file) => std::fs::File::from(file)
                    .write_all(text.as_bytes())
                    .map_err(|why| Errno::from_io_error(&why).unwrap_or(Errno::IO))?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(self.0.join(place))
    }

    /// The redirected variables.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        REDIRECTED.iter().map(|(name, directory)| (*name, self.0.join(directory)))
    }
}

/// The directories of programs where the host's `PATH` names none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Which directories of the host's `PATH` a child searches.
#[derive(Debug, Clone, Copy)]
pub enum SearchPath<'p> {
    /// The absolute ones that are not beneath this directory, where an agent could put programs.
    Outside(Option<&'p Path>),
    /// All of them, as the operator's own shell searches them; relative ones start here.
    All(&'p Path),
}

/// The environment of a caged child.
pub fn cage_variables(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    user: &UserEnvironment,
    pass: &[String],
    search: SearchPath<'_>,
) -> Variables {
    let mut kept = Variables::new();
    for (name, value) in host {
        let text = name.to_string_lossy();
        if PASSED_VARIABLES.contains(&text.as_ref())
            || (text.starts_with("LC_") && !is_secret_name(&name))
            || pass.iter().any(|known| *known == text)
        {
            let value = if text == "PATH" { search.apply(&value) } else { value };
            set(&mut kept, &name, value);
        }
    }
    for (name, path) in user.variables() {
        set(&mut kept, name, path);
    }
    if kept.iter().all(|(name, value)| name != "PATH" || value.is_empty()) {
        set(&mut kept, "PATH", DEFAULT_PATH);
    }
    kept
}

impl SearchPath<'_> {
    /// These of the directories of `path`.
    pub(crate) fn apply(self, path: &OsStr) -> OsString {
        let directories = std::env::split_paths(path).filter(|directory| match self {
            Self::Outside(above) => {
                directory.is_absolute() && !above.is_some_and(|above| directory.starts_with(above))
            }
            // An empty one is the working directory, and mostly a slip.
            Self::All(_) => !directory.as_os_str().is_empty(),
        });
        let absolute = directories.map(|directory| match self {
            Self::Outside(_) => directory,
            Self::All(from) => from.join(directory),
        });
        std::env::join_paths(absolute).unwrap_or_else(|_| "/usr/bin:/bin".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'v>(variables: &'v Variables, name: &str) -> Option<&'v str> {
        variables.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str())
    }

    #[test]
    fn whatever_is_missing_of_the_directories_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let user = UserEnvironment::of(dir.path(), &Principal::Project("/p/app".into()));
        let all = || REDIRECTED.iter().all(|(_, directory)| user.path().join(directory).is_dir());
        for (why, spoil) in [
            ("nothing is there", None),
            ("all of it is there", Some("not-there")),
            ("the first is missing", Some("home")),
            ("the last is missing", Some("state")),
        ] {
            let _ = spoil.map(|name| std::fs::remove_dir(user.path().join(name)));
            user.prepare().unwrap();
            assert!(all(), "{why}");
        }
        for number in 0..200 {
            std::fs::create_dir(user.path().join(format!("of-the-childs-own-making-{number}"))).unwrap();
        }
        std::fs::remove_dir(user.path().join("tmp")).unwrap();
        user.prepare().unwrap();
        assert!(all(), "among more than one look tells");
    }

    #[cfg(unix)]
    #[test]
    fn directories_that_a_child_closed_are_opened_and_links_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let user = UserEnvironment::of(dir.path(), &Principal::Project("/p/app".into()));
        user.prepare().unwrap();
        user.mount_point(Path::new(".codex/x"), HostEntryKind::Directory).unwrap();
        let (tmp, codex) = (user.path().join("tmp"), user.path().join("home/.codex"));
        std::fs::remove_dir(&tmp).unwrap();
        symlink(&outside, &tmp).unwrap();
        let close = |path: &Path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o050)).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        for path in [&outside, &codex, &user.path().join("home"), user.path()] {
            close(path);
        }
        user.prepare().unwrap();
        user.mount_point(Path::new(".codex/x"), HostEntryKind::Directory).unwrap();
        for path in [user.path(), &user.path().join("home"), &codex] {
            assert_eq!(mode(path), 0o750, "{}", path.display());
        }
        assert_eq!(mode(&outside), 0o050, "through a link");
    }

    #[test]
    fn a_caged_child_knows_only_what_is_listed() {
        let user = UserEnvironment::of(Path::new("/i"), &Principal::Project("/p/app".into()));
        let host = [
            ("PATH", "/ws/bin:/usr/bin:relative:"),
            ("LANG", "C"),
            ("LC_TIME", "C"),
            ("LC_API_KEY", "x"),
            ("HOME", "/home/u"),
            ("SSH_AUTH_SOCK", "/run/x"),
            ("OPENAI_API_KEY", "x"),
            ("MY_TOKEN", "given on"),
        ];
        let host = host.map(|(name, value)| (name.into(), value.into()));
        let pass = ["MY_TOKEN".to_owned()];
        let got = cage_variables(host.clone(), &user, &pass, SearchPath::Outside(Some(Path::new("/ws"))));
        for (why, name, want) in [
            ("no agent-writable and no relative entry", "PATH", Some("/usr/bin")),
            ("the language", "LANG", Some("C")),
            ("all of it", "LC_TIME", Some("C")),
            ("its own home", "HOME", Some("/i/runtime-user-env/run/app-f69650730a96c0d3/home")),
            (
                "its own temporary directory",
                "TMPDIR",
                Some("/i/runtime-user-env/run/app-f69650730a96c0d3/tmp"),
            ),
            ("its own state", "XDG_STATE_HOME", Some("/i/runtime-user-env/run/app-f69650730a96c0d3/state")),
            ("no SSH agent", "SSH_AUTH_SOCK", None),
            ("no key", "OPENAI_API_KEY", None),
            ("nor one that is named like a locale", "LC_API_KEY", None),
            ("what the operator passes on", "MY_TOKEN", Some("given on")),
        ] {
            assert_eq!(value(&got, name), want, "{why}: `{name}`");
        }
        let own = cage_variables(host, &user, &[], SearchPath::All(Path::new("/ws/sub")));
        assert_eq!(value(&own, "PATH"), Some("/ws/bin:/usr/bin:/ws/sub/relative"), "the operator's own");
        let bare = cage_variables([], &user, &[], SearchPath::Outside(None));
        assert_eq!(
            value(&bare, "PATH"),
            Some("/usr/local/bin:/usr/bin:/bin"),
            "a child without a path finds nothing"
        );
    }
}
