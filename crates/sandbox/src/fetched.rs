//! Packages that `npx` and `uvx` would fetch at each start: fetched once with an open network, and
//! run without one.
//!
//! What is fetched lies beneath `runtime-user-env/fetched`, and the record of it in
//! `state/fetched`.
//! Invariant: no server writes to either. A server that could ask for a second fetch would have a
//! way out for what it has read.

use crate::os_file::{CWD, Errno, Mode, OFlags, mkdirat, openat, read_regular_file};
use crate::root::remove_dir_all;
use crate::state_dir::{StateDir, StateError};
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The largest manifest of a package that is read.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Without a prefix npm would look for a manifest in the directories above. Warnings, and its
/// advice to update itself, would come after the error.
const NPM_INSTALL: &[&str] =
    &["install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--prefix", "."];

/// Which program fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Npx,
    Uvx,
}

/// A command line of `npx` or `uvx`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageCommand {
    runner: Runner,
    /// The directory by which `npx` or `uvx` was named, where `npm` or `uv` lies too; empty for one
    /// that is looked up.
    runner_dir: PathBuf,
    packages: Vec<String>,
    /// The program of the packages; `None` for the one that the only package is for.
    program: Option<String>,
    arguments: Vec<OsString>,
}

impl PackageCommand {
    /// Parses a command line; `None` for another program, and for options that are not known here.
    pub fn parse(command: &[OsString]) -> Option<Self> {
        let (program, words) = command.split_first()?;
        let program = Path::new(program);
        let parsed = match program.file_name()?.to_str()? {
            "npx" => Self::parse_npx(words),
            "uvx" => Self::parse_uvx(words),
            _ => None,
        }?;
        Some(Self { runner_dir: program.parent()?.to_owned(), ..parsed })
    }

    fn parse_npx(words: &[OsString]) -> Option<Self> {
        let mut packages = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "-y" | "--yes" | "-q" | "--quiet" | "--" => {}
                "-p" | "--package" => packages.push(package(words.next()?.to_str()?)?),
                option if option.starts_with("--package=") => {
                    packages.push(package(option.strip_prefix("--package=")?)?);
                }
                option if option.starts_with('-') => return None,
                name => {
                    let program = (!packages.is_empty()).then(|| name.to_owned());
                    if program.is_none() {
                        packages.push(package(name)?);
                    }
                    return Self::new(Runner::Npx, packages, program, words);
                }
            }
        }
        None
    }

    fn parse_uvx(words: &[OsString]) -> Option<Self> {
        let (mut from, mut with) = (None, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "-q" | "--quiet" | "--" => {}
                "--from" => from = Some(package(words.next()?.to_str()?)?),
                "--with" => with.push(package(words.next()?.to_str()?)?),
                option if option.starts_with("--from=") => from = Some(package(option.get(7..)?)?),
                option if option.starts_with('-') => return None,
                name => {
                    let (program, version) = name.split_once('@').unwrap_or((name, "latest"));
                    let own = match version {
                        "latest" => program.to_owned(),
                        version => format!("{program}=={version}"),
                    };
                    let packages = [vec![from.unwrap_or(package(&own)?)], with].concat();
                    let program = Some(program.to_owned());
                    return Self::new(Runner::Uvx, packages, program, words);
                }
            }
        }
        None
    }

    fn new<'w>(
        runner: Runner,
        packages: Vec<String>,
        program: Option<String>,
        arguments: impl Iterator<Item = &'w OsString>,
    ) -> Option<Self> {
        let arguments = arguments.cloned().collect();
        let is_plain = program.as_deref().is_none_or(is_file_name);
        is_plain.then_some(Self { runner, runner_dir: PathBuf::new(), packages, program, arguments })
    }

    /// The packages, for people.
    pub fn packages(&self) -> String {
        self.packages.join(" ")
    }

    /// Identifies what is fetched.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(match self.runner {
            Runner::Npx => "npx",
            Runner::Uvx => "uvx",
        });
        for package in &self.packages {
            hash.update([0]);
            hash.update(package);
        }
        HEXLOWER.encode(&hash.finalize()).chars().take(16).collect()
    }
}

/// A package that cannot be taken for an option or a path of the host.
fn package(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/._-=<>~^+[],!*".contains(c);
    let is_path = text.starts_with(['.', '/', '~', '-']) || text.contains("..") || text.contains("//");
    (!text.is_empty() && !is_path && text.chars().all(is_plain)).then(|| text.to_owned())
}

fn is_file_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['.', '-']) && !text.contains(['/', '\0'])
}

/// Where the packages of a command are kept.
#[derive(Debug)]
pub struct FetchPlace<'c> {
    command: &'c PackageCommand,
    directory: PathBuf,
    records: StateDir,
}

/// What fetches the packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchStep {
    /// An empty directory, in which it runs.
    pub directory: PathBuf,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its variables.
    pub variables: Vec<(OsString, OsString)>,
}

/// Why packages cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The record or the directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// The packages came, and none of them has such a program.
    #[error("`{0}` has no program that could be run")]
    NoProgram(String),
}

impl<'c> FetchPlace<'c> {
    /// In the instance at `home`.
    pub fn new(home: &Path, command: &'c PackageCommand) -> Result<Self, StateError> {
        let directory = tree(home).join(command.hash());
        Ok(Self { command, directory, records: StateDir::open(home, "fetched")? })
    }

    /// The name of the user environment that fetches; no server has it.
    pub fn principal_name(&self) -> String {
        format!("fetch {}", self.command.hash())
    }

    /// The command without `npx` or `uvx`, if its packages were fetched.
    pub fn find(&self) -> Result<Option<Vec<OsString>>, StateError> {
        let known = self.records.read(&self.command.hash(), MAX_MANIFEST_BYTES)?;
        Ok(known.filter(|_| self.directory.is_dir()).and_then(|_| self.run_command()))
    }

    /// Makes an empty directory for the packages, and returns what puts them there.
    pub fn prepare(&self) -> Result<FetchStep, StateError> {
        self.records.remove(&self.command.hash())?;
        let (parent, name) = (self.directory.parent(), self.directory.file_name());
        let (Some(parent), Some(name)) = (parent, name) else {
            return Err(StateError::of("make", &self.directory)(Errno::INVAL));
        };
        self.make_empty(parent, name).map_err(StateError::of("make", &self.directory))?;
        let (program, words) = match self.command.runner {
            Runner::Npx => ("npm", NPM_INSTALL),
            Runner::Uvx => ("uv", &["tool", "install"][..]),
        };
        let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
        words.insert(0, self.command.runner_dir.join(program).into_os_string());
        let mut packages = self.command.packages.iter();
        if self.command.runner == Runner::Uvx {
            words.extend(packages.next().map(OsString::from));
            words.extend(packages.flat_map(|package| ["--with", package]).map(OsString::from));
        } else {
            words.extend(packages.map(OsString::from));
        }
        let place = |name: &str, place: &str| (name.into(), self.directory.join(place).into_os_string());
        let variables = [
            place("UV_TOOL_DIR", "tools"),
            place("UV_TOOL_BIN_DIR", "bin"),
            place("UV_PYTHON_INSTALL_DIR", "python"),
            ("UV_LINK_MODE".into(), "copy".into()),
        ];
        Ok(FetchStep { directory: self.directory.clone(), command: words, variables: variables.into() })
    }

    fn make_empty(&self, parent: &Path, name: &OsStr) -> Result<(), Errno> {
        for directory in [parent.parent(), Some(parent)].into_iter().flatten() {
            match mkdirat(CWD, directory, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = openat(CWD, parent, flags, Mode::empty())?;
        match remove_dir_all(&parent, name) {
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        mkdirat(&parent, name, Mode::RWXU)
    }

    /// Records that the packages are there, and returns the command that runs them.
    pub fn record(&self) -> Result<Vec<OsString>, FetchError> {
        let none = || FetchError::NoProgram(self.command.packages());
        let words = self.run_command().ok_or_else(none)?;
        self.records.replace(&self.command.hash(), self.command.packages().as_bytes())?;
        Ok(words)
    }

    /// The program of the packages with the command's arguments.
    fn run_command(&self) -> Option<Vec<OsString>> {
        let program = match (self.command.runner, &self.command.program) {
            (Runner::Uvx, program) => self.directory.join("bin").join(program.as_deref()?),
            (Runner::Npx, program) => {
                let name = program.clone().or_else(|| self.only_program())?;
                self.directory.join("node_modules/.bin").join(name)
            }
        };
        program.exists().then(|| [vec![program.into_os_string()], self.command.arguments.clone()].concat())
    }

    /// The program that npx would choose: the only one of the package, or the one of its name.
    fn only_program(&self) -> Option<String> {
        let dependencies = manifest(&self.directory)?;
        let name = dependencies["dependencies"].as_object()?.keys().next()?.clone();
        let is_within = !name.contains("..") && !name.starts_with('/');
        let package = manifest(&self.directory.join("node_modules").join(&name)).filter(|_| is_within)?;
        let own = name.rsplit('/').next()?.to_owned();
        let program = match &package["bin"] {
            Value::String(_) => own,
            Value::Object(programs) if programs.len() == 1 => programs.keys().next()?.clone(),
            Value::Object(programs) => programs.contains_key(&own).then_some(own)?,
            _ => return None,
        };
        is_file_name(&program).then_some(program)
    }
}

/// The directory of all fetched packages.
fn tree(home: &Path) -> PathBuf {
    home.join("runtime-user-env/fetched")
}

/// The fetched packages that `program` belongs to.
pub fn packages_of(home: &Path, program: &Path) -> Option<PathBuf> {
    let name = program.strip_prefix(tree(home)).ok()?.iter().next()?;
    Some(tree(home).join(name))
}

fn manifest(directory: &Path) -> Option<Value> {
    let text = read_regular_file(&directory.join("package.json"), MAX_MANIFEST_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<(String, Option<String>, Vec<OsString>)> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let parsed = PackageCommand::parse(&words)?;
        Some((parsed.packages(), parsed.program.clone(), parsed.arguments))
    }

    #[test]
    fn command_lines_are_understood_or_left_alone() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (line, packages, program, arguments) in [
            ("npx -y @a/server@1.2 --root /srv", "@a/server@1.2", None, "--root /srv"),
            ("/usr/bin/npx server", "server", None, ""),
            ("npx -p a --package=b run -p x", "a b", Some("run"), "-p x"),
            ("uvx server --port 1", "server", Some("server"), "--port 1"),
            ("uvx server@1.2", "server==1.2", Some("server"), ""),
            ("uvx server@latest", "server", Some("server"), ""),
            ("uvx --from pkg[cli]==1 --with more cmd a", "pkg[cli]==1 more", Some("cmd"), "a"),
        ] {
            let want = (packages.to_owned(), program.map(str::to_owned), words(arguments));
            assert_eq!(parse(line), Some(want), "{line}");
        }
        for line in [
            "node server.js",
            "npx",
            "npx -y",
            "npx -c echo",
            "npx --registry http://h a",
            "npx ./local",
            "npx ../up",
            "npx /srv/server",
            "npx git+https://h/a",
            "npx -p a ../run",
            "uvx --python 3.9 a",
            "uvx --from ./here a",
            "uvx ../a",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_was_fetched_is_found_by_its_packages() {
        let home = tempfile::tempdir().unwrap();
        let command = |line: &str| {
            PackageCommand::parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap()
        };
        let server = command("npx -y @a/server /srv");
        let place = FetchPlace::new(home.path(), &server).unwrap();
        assert_eq!(place.find().unwrap(), None);
        let FetchStep { directory, command: words, .. } = place.prepare().unwrap();
        assert_eq!(words.last().unwrap(), "@a/server");
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert!(matches!(place.record(), Err(FetchError::NoProgram(_))), "nothing came");
        write("package.json", r#"{"dependencies": {"@a/server": "1"}}"#);
        for (bin, is_one) in [
            (r#""x.js""#, true),
            (r#"{"server": "x.js", "other": "y.js"}"#, true),
            (r#"{"one": "x.js", "other": "y.js"}"#, false),
            (r#"{"../../escape": "x.js"}"#, false),
        ] {
            write("node_modules/@a/server/package.json", &format!(r#"{{"bin": {bin}}}"#));
            write("node_modules/.bin/server", "");
            assert_eq!(place.record().is_ok(), is_one, "{bin}");
        }
        write("node_modules/@a/server/package.json", r#"{"bin": "x.js"}"#);
        let program = directory.join("node_modules/.bin/server");
        let want = vec![program.clone().into_os_string(), "/srv".into()];
        assert_eq!(place.find().unwrap(), Some(want));
        assert_eq!(packages_of(home.path(), &program), Some(directory.clone()));
        assert_eq!(packages_of(home.path(), Path::new("/usr/bin/node")), None);
        // Another version is another fetch, and a fetch begins with nothing.
        let other = command("npx -y @a/server@2 /srv");
        assert_eq!(FetchPlace::new(home.path(), &other).unwrap().find().unwrap(), None);
        place.prepare().unwrap();
        assert_eq!(place.find().unwrap(), None);
        assert!(!program.exists());
    }
}
