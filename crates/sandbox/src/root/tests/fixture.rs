//! A workspace, an instance and an outside, each in a directory of its own, and trees written as
//! text.
//!
//! Invariant: a test inspects the tree by path, from outside the code under test.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]

use crate::root::{DisabledKernelFeatures, ProtectedInodes, Root, Span, WriteContext};
use picoclaw_policy::{Access, CleanPath, Protected, Zones};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Every kernel that the table runs on.
pub(super) const KERNELS: [DisabledKernelFeatures; 5] = [
    DisabledKernelFeatures::None,
    DisabledKernelFeatures::Openat2,
    DisabledKernelFeatures::Proc,
    DisabledKernelFeatures::Openat2AndProc,
    DisabledKernelFeatures::PathDescriptors,
];

/// The whole of a small file.
pub(super) const ALL: Span = Span { offset: 0, length: 1 << 20 };

/// Directories for one test.
pub(super) struct Fixture {
    _temp: TempDir,
    top: PathBuf,
}

impl Drop for Fixture {
    /// Opens the directories that a test has closed, which could not be removed otherwise.
    fn drop(&mut self) {
        let mut directories = vec![self.top.clone()];
        while let Some(directory) = directories.pop() {
            let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            directories.extend(inner.map(|entry| entry.path()));
        }
    }
}

impl Fixture {
    /// In the usual place for temporary files.
    pub(super) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory, where renames are fastest; otherwise as [`Fixture::new`].
    pub(super) fn in_memory() -> Self {
        let shm = Path::new("/dev/shm");
        if shm.is_dir() && tempfile::tempdir_in(shm).is_ok() { Self::below(shm) } else { Self::new() }
    }

    pub(super) fn below(dir: &Path) -> Self {
        let temp = tempfile::Builder::new().prefix("root-").tempdir_in(dir).unwrap();
        let top = temp.path().canonicalize().unwrap();
        for name in ["home/workspace", "home/state/locks", "home/skills", "out"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::write(top.join("out/secret"), "SECRET").unwrap();
        fs::write(top.join("home/config.json"), "CONFIG").unwrap();
        fs::write(top.join("home/skills/skill"), "SKILL").unwrap();
        symlink("home/workspace", top.join("alias")).unwrap();
        Self { _temp: temp, top }
    }

    /// The workspace's real path.
    pub(super) fn workspace(&self) -> PathBuf {
        self.top.join("home/workspace")
    }

    /// Another name of the workspace.
    pub(super) fn alias(&self) -> PathBuf {
        self.top.join("alias")
    }

    /// A directory outside the workspace.
    pub(super) fn outside(&self) -> PathBuf {
        self.top.join("out")
    }

    /// The Protected instance.
    pub(super) fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    pub(super) fn root(&self) -> Root {
        Root::open(&self.workspace()).unwrap()
    }

    /// The tree as the agent sees it.
    pub(super) fn zones(&self) -> Zones {
        Zones {
            workspace: vec![clean(&self.workspace()), clean(&self.alias())],
            protected: Protected {
                trees: vec![clean(&self.home())],
                readable: vec![clean(&self.home().join("skills"))],
            },
        }
    }

    pub(super) fn protected(&self) -> ProtectedInodes {
        ProtectedInodes::of(&self.zones())
    }

    pub(super) fn context(&self) -> WriteContext {
        WriteContext::new(&self.home().join("state/locks"), Duration::from_secs(10)).unwrap()
    }

    /// `$WS`, `$ALIAS`, `$OUT` and `$HOME` in a text, as paths.
    pub(super) fn expand(&self, text: &str) -> String {
        [
            ("$WS", self.workspace()),
            ("$ALIAS", self.alias()),
            ("$OUT", self.outside()),
            ("$HOME", self.home()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (word, path)| text.replace(word, path.to_str().unwrap()))
    }

    /// Builds one line of a tree: `dir d`, `file f = text`, `link l -> target`, `hard h = file`,
    /// `fifo p`, `socket s`, `mode 0755 f`.
    pub(super) fn build(&self, line: &str) {
        self.try_build(line).unwrap_or_else(|fault| panic!("`{line}`: {fault}"));
    }

    /// As [`Fixture::build`], where a line may not fit the tree.
    pub(super) fn try_build(&self, line: &str) -> std::io::Result<()> {
        let line = self.expand(line);
        let (verb, rest) = line.split_once(' ').unwrap();
        let at = |name: &str| self.workspace().join(name.trim());
        let name =
            rest.split([' ', '=']).find(|word| !word.chars().all(|c| c.is_ascii_digit())).unwrap_or(rest);
        self.stay_inside(&at(name))?;
        match verb {
            "dir" => fs::create_dir_all(at(rest)),
            "file" => {
                let (name, text) = rest.split_once(" = ").unwrap();
                fs::create_dir_all(at(name).parent().unwrap())?;
                // Never through a link, so that nothing outside is changed.
                fs::File::create_new(at(name))?.write_all(text.as_bytes())
            }
            "link" => {
                let (name, target) = rest.split_once(" -> ").unwrap();
                fs::create_dir_all(at(name).parent().unwrap())?;
                symlink(target, at(name))
            }
            "hard" => {
                let (name, file) = rest.split_once(" = ").unwrap();
                fs::hard_link(at(file), at(name))
            }
            "fifo" => rustix::fs::mknodat(
                rustix::fs::CWD,
                at(rest),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .map_err(Into::into),
            "socket" => UnixListener::bind(at(rest)).map(drop),
            "mode" => {
                let (mode, name) = rest.split_once(' ').unwrap();
                let mode = u32::from_str_radix(mode, 8).unwrap();
                fs::set_permissions(at(name), fs::Permissions::from_mode(mode))
            }
            other => panic!("no tree line begins with `{other}`"),
        }
    }

    /// A random tree has links to anywhere; nothing is built behind them.
    fn stay_inside(&self, path: &Path) -> std::io::Result<()> {
        let mut above = path.ancestors().skip(1);
        let real = above.find_map(|dir| dir.canonicalize().ok()).unwrap();
        if real.starts_with(self.workspace()) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
    }

    /// Writes as a tool would.
    pub(super) fn write(&self, path: &str, content: &[u8]) -> Result<(), crate::root::RootError> {
        self.root().locate(Path::new(path), Access::Write, &self.protected())?.write(
            content,
            crate::root::Overwrite::Yes,
            &self.context(),
        )
    }

    /// Reads as a tool would.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, crate::root::RootError> {
        Ok(self.root().locate(Path::new(path), Access::Read, &self.protected())?.read(ALL)?.bytes)
    }

    /// What is in a file of the workspace, seen from outside.
    pub(super) fn contents(&self, path: &str) -> Vec<u8> {
        fs::read(self.workspace().join(path)).unwrap()
    }

    /// Permission bits of a file of the workspace, seen from outside.
    pub(super) fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.workspace().join(path)).unwrap().permissions().mode() & 0o7777
    }

    /// Names of temporary files in a directory of the workspace.
    pub(super) fn litter(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.workspace().join(dir)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".tmp-")).collect()
    }
}

pub(super) fn clean(path: &Path) -> CleanPath {
    CleanPath::absolute(path).unwrap()
}

/// How often a racing test tries: a few times, or as often as the promise says.
pub(super) fn rounds(few: usize, many: usize) -> usize {
    if std::env::var_os("PICOCLAW_SOAK").is_some_and(|value| value == "1") { many } else { few }
}

/// Whether the tests run as root, for whom no permission bit counts.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
