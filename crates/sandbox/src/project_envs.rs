//! The user environments of projects: `picoclaw run` and `picoclaw mcp wrap` have one for each
//! project, so that what one project's commands leave in their home is not run in another.
//!
//! Invariant: an environment is not removed while a command uses it. The locks lie in
//! `state/locks`, where no child can hold one.

use crate::file_lock::FileLock;
use crate::launch::Principal;
use crate::os_file::{AtFlags, CWD, Dir, FileType, Mode, OFlags, OwnedFd, openat, os_str, statat};
use crate::root::{dir_bytes, remove_dir_all};
use crate::state_dir::{StateDir, StateError};
use picoclaw_policy::AgentId;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the paths of the projects are recorded, beneath `state/`.
const RECORD: &str = "projects.json";

/// Held while the record is changed.
const RECORD_LOCK: &str = "projects.lock";

/// How long a change of the record waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The answer of a person who lets an agent work in a project.
const YES: &str = "yes";

/// The largest record that is read.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// The user environments of the projects of one instance.
#[derive(Debug)]
pub struct ProjectEnvs {
    /// `runtime-user-env/`.
    root: PathBuf,
    state: StateDir,
    locks: StateDir,
}

/// One user environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectEnv {
    /// Its path beneath `runtime-user-env/`, such as `run/app-0123456789abcdef`.
    pub directory: PathBuf,
    /// Its path.
    pub path: PathBuf,
    /// What it belongs to.
    pub owner: EnvOwner,
    /// The bytes that it takes on the disk.
    pub bytes: u64,
}

/// What a user environment belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvOwner {
    /// The project at this path.
    Project(PathBuf),
    /// A project whose path was not recorded.
    Unknown,
}

/// Whether an agent works in the project that it is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectAnswer {
    /// The project is its workspace.
    Yes,
    /// It works in the configured workspace.
    No,
}

/// The result of removing an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone; so many bytes are free.
    Removed(u64),
    /// A command uses it, so it was left.
    InUse,
}

impl ProjectEnvs {
    /// Those of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, StateError> {
        let state = StateDir::of_instance(home)?;
        let locks = state.subdir("locks")?;
        Ok(Self { root: home.join("runtime-user-env"), state, locks })
    }

    /// Records that `principal`'s environment belongs to `project`, and keeps it from being removed
    /// while the guard lives.
    pub(crate) fn enter(&self, principal: &Principal, project: &Path) -> Result<FileLock, StateError> {
        let directory = principal.directory();
        let lock = self.lock(&directory)?;
        let (Some(name), Some(path)) = (directory.to_str(), project.to_str()) else { return Ok(lock) };
        if self.record()?.get(name).is_none_or(|known| known != path) {
            self.change_record(|record| record.insert(name.to_owned(), path.to_owned()))?;
        }
        Ok(lock)
    }

    /// Whether `agent` works in `project` when it is started there; `None` if that was never asked.
    pub fn answer(&self, agent: &AgentId, project: &Path) -> Result<Option<ProjectAnswer>, StateError> {
        let record = self.record()?;
        let given = record.get(&answer_key(agent, project));
        Ok(given.map(|answer| if answer == YES { ProjectAnswer::Yes } else { ProjectAnswer::No }))
    }

    /// Remembers whether `agent` works in `project` when it is started there.
    pub fn remember(&self, agent: &AgentId, project: &Path, answer: ProjectAnswer) -> Result<(), StateError> {
        let answer = if answer == ProjectAnswer::Yes { YES } else { "no" };
        self.change_record(|record| record.insert(answer_key(agent, project), answer.to_owned()))
    }

    /// Every environment of a project, by its directory.
    pub fn list(&self) -> Result<Vec<ProjectEnv>, StateError> {
        let record = self.record()?;
        let mut found = Vec::new();
        for kind in ["run", "mcp", "agents"] {
            for name in self.subdirectories(kind)? {
                let directory = Path::new(kind).join(&name);
                let project = directory.to_str().and_then(|name| record.get(name));
                let owner = match project {
                    Some(path) => EnvOwner::Project(path.into()),
                    // A server or agent of the configuration has an environment that is no
                    // project's.
                    None if kind != "run" => continue,
                    None => EnvOwner::Unknown,
                };
                found.push(self.environment(directory, owner));
            }
        }
        Ok(found)
    }

    /// Whether a command uses `environment`.
    pub fn is_in_use(&self, environment: &ProjectEnv) -> Result<bool, StateError> {
        Ok(self.try_lock(&environment.directory)?.is_none())
    }

    /// Removes an environment, unless a command uses it.
    pub fn remove(&self, environment: &ProjectEnv) -> Result<Removal, StateError> {
        let ProjectEnv { directory, path, .. } = environment;
        let Some(_lock) = self.try_lock(directory)? else { return Ok(Removal::InUse) };
        let mut freed = 0;
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            freed = remove_dir_all(&open_dir(parent)?, name).map_err(StateError::of("remove", path))?;
        }
        if let Some(name) = directory.to_str() {
            self.change_record(|record| record.remove(name))?;
        }
        // The lock is held: a command that waits for it looks whether its file is still the one
        // that is named.
        let _ = self.locks.unlink(&lock_name(directory));
        Ok(Removal::Removed(freed))
    }

    fn environment(&self, directory: PathBuf, owner: EnvOwner) -> ProjectEnv {
        let path = self.root.join(&directory);
        let bytes = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => open_dir(parent).map_or(0, |parent| dir_bytes(&parent, name)),
            _ => 0,
        };
        ProjectEnv { directory, path, owner, bytes }
    }

    fn subdirectories(&self, kind: &str) -> Result<Vec<PathBuf>, StateError> {
        let path = self.root.join(kind);
        let dir = match open_dir(&path) {
            Ok(dir) => dir,
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            Err(why) => return Err(why),
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir).map_err(StateError::of("list", &path))? {
            let entry = entry.map_err(StateError::of("list", &path))?;
            let name = os_str(entry.file_name().to_bytes());
            let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_directory =
                stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
            if is_directory && name != "." && name != ".." {
                names.push(PathBuf::from(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The recorded paths, by directory.
    fn record(&self) -> Result<BTreeMap<String, String>, StateError> {
        let bytes = self.state.read(RECORD, MAX_RECORD_BYTES)?.unwrap_or_default();
        // A record that cannot be read is written anew; its environments count as unknown.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn change_record<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, String>) -> T,
    ) -> Result<(), StateError> {
        let _lock = self.state.lock(RECORD_LOCK, LOCK_TIMEOUT)?;
        let mut record = self.record()?;
        change(&mut record);
        let mut text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        text.push(b'\n');
        self.state.replace(RECORD, &text)
    }

    /// Keeps an environment from being removed.
    fn lock(&self, directory: &Path) -> Result<FileLock, StateError> {
        let lock = self.lock_with(directory, |file| FileLock::shared(file).map(Some))?;
        lock.ok_or_else(|| StateError::Busy { path: self.root.join(directory), waited: Duration::ZERO })
    }

    /// `None` while a command uses the environment.
    fn try_lock(&self, directory: &Path) -> Result<Option<FileLock>, StateError> {
        self.lock_with(directory, FileLock::try_exclusive)
    }

    fn lock_with(
        &self,
        directory: &Path,
        lock: impl Fn(File) -> io::Result<Option<FileLock>>,
    ) -> Result<Option<FileLock>, StateError> {
        let name = lock_name(directory);
        self.locks.lock_named(&name, || self.locks.created(&name, OFlags::RDWR), lock)
    }
}

/// The name of an environment's lock.
fn lock_name(directory: &Path) -> String {
    // Neither part of a directory holds an `@`.
    format!("env@{}", directory.to_string_lossy().replace('/', "@"))
}

/// The key of an answer in the record, another for each path of any bytes; no directory of an
/// environment begins so.
fn answer_key(agent: &AgentId, project: &Path) -> String {
    format!("works in:{agent}:{}", project.as_os_str().as_encoded_bytes().escape_ascii())
}

fn open_dir(path: &Path) -> Result<OwnedFd, StateError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(StateError::of("open", path))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
mod tests {
    use super::*;
    use crate::isolate::UserEnvironment;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn prepared(home: &Path, principal: &Principal) -> PathBuf {
        let user = UserEnvironment::of(home, principal);
        user.prepare().unwrap();
        std::fs::write(user.path().join("home/kept"), "kept").unwrap();
        user.path().to_owned()
    }

    #[test]
    fn an_answer_is_for_one_directory_whatever_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let envs = ProjectEnvs::open(dir.path()).unwrap();
        let agent = AgentId::main();
        let named = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        envs.remember(&agent, named(b"/work/a\xff"), ProjectAnswer::Yes).unwrap();
        assert_eq!(envs.answer(&agent, named(b"/work/a\xff")).unwrap(), Some(ProjectAnswer::Yes));
        for other in [&b"/work/a\xfe"[..], "/work/a\u{fffd}".as_bytes(), br"/work/a\xff"] {
            assert_eq!(envs.answer(&agent, named(other)).unwrap(), None, "{other:?}");
        }
    }

    #[test]
    fn an_environment_is_listed_with_its_project_and_removed_when_it_is_idle() {
        let dir = tempfile::tempdir().unwrap();
        let project = Path::new("/work/app");
        let principal = Principal::Project(project.to_owned());
        let envs = ProjectEnvs::open(dir.path()).unwrap();
        assert_eq!(envs.list().unwrap(), [], "a new instance has none");
        let in_use = envs.enter(&principal, project).unwrap();
        let path = prepared(dir.path(), &principal);
        let again = envs.enter(&principal, project).unwrap();
        let listed = envs.list().unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        let own = &listed[0];
        assert_eq!((&own.owner, &own.path), (&EnvOwner::Project(project.to_owned()), &path));
        assert!(own.bytes > 0);
        assert_eq!(envs.remove(own).unwrap(), Removal::InUse);
        drop(in_use);
        assert_eq!(envs.remove(own).unwrap(), Removal::InUse, "one command of two has ended");
        assert!(path.join("home/kept").exists());
        drop(again);
        assert!(!envs.is_in_use(own).unwrap());
        assert!(matches!(envs.remove(own).unwrap(), Removal::Removed(bytes) if bytes > 0));
        assert!(!path.exists());
        assert_eq!(envs.list().unwrap(), []);
        let _back = envs.enter(&principal, project).unwrap();
    }

    #[test]
    fn what_belongs_to_no_project_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let envs = ProjectEnvs::open(dir.path()).unwrap();
        prepared(dir.path(), &Principal::Mcp("files".into()));
        let wrapped = Principal::Mcp("files@app".into());
        let of_project = prepared(dir.path(), &wrapped);
        drop(envs.enter(&wrapped, Path::new("/work/app")).unwrap());
        let unknown = prepared(dir.path(), &Principal::Project("/not/recorded".into()));
        let listed = envs.list().unwrap();
        let told: Vec<_> = listed.iter().map(|env| (env.path.clone(), env.owner.clone())).collect();
        let want = [
            (unknown.clone(), EnvOwner::Unknown),
            (of_project.clone(), EnvOwner::Project("/work/app".into())),
        ];
        assert_eq!(told, want);
        assert!(matches!(envs.remove(&listed[0]).unwrap(), Removal::Removed(_)));
        assert!(!unknown.exists() && of_project.join("home/kept").exists());
    }
}
