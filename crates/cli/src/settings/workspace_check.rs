//! Checks the workspaces on this host: links resolved, bind mounts recognised, home directories
//! found. A workspace that does not exist is judged by the part of its path that does.

use super::file::read_bytes;
use super::load::Settings;
use super::process_env::ProcessEnv;
use crate::platform;
use picoclaw_policy::config::{
    Config, Expose, ExposeMode, ReservedPaths, WorkspaceFault, WorkspacePlace, check_workspaces,
    home_directories, system_directories, system_directory,
};
use picoclaw_policy::{AgentId, CleanPath};
use picoclaw_sandbox::os_file::MountTable;
use picoclaw_sandbox::os_file::{AtFlags, CWD, identity as identity_of, statat};
use picoclaw_sandbox::printable_path;
use std::path::{Path, PathBuf};

/// The faults of the workspaces.
pub(super) fn check(
    config: &Config,
    home: &Path,
    files: [&Path; 2],
    env: &ProcessEnv,
) -> Vec<WorkspaceFault> {
    let workspaces: Vec<_> =
        config.agents.iter().map(|agent| (agent.id.clone(), config.workspace_of(&agent.id, home))).collect();
    faults(workspaces, home, files, env)
}

/// The fault of `workspace` as the only one, under the loaded settings.
pub(crate) fn workspace_fault(
    workspace: &Path,
    agent: &AgentId,
    loaded: &Settings,
    env: &ProcessEnv,
) -> Option<WorkspaceFault> {
    let files = [loaded.config_path.as_path(), loaded.secrets_path.as_path()];
    faults(vec![(agent.clone(), workspace.to_owned())], &loaded.home, files, env).into_iter().next()
}

/// The fault of the workspaces of `config` instead of those of the loaded settings.
pub(crate) fn workspace_fault_in(
    config: &Config,
    loaded: &Settings,
    env: &ProcessEnv,
) -> Option<WorkspaceFault> {
    let files = [loaded.config_path.as_path(), loaded.secrets_path.as_path()];
    check(config, &loaded.home, files, env).into_iter().next()
}

/// A line for each exposure that makes a system directory or a home directory writable. It is the
/// operator's to decide.
pub(crate) fn exposure_warnings(exposures: &[Expose], env: &ProcessEnv) -> Vec<String> {
    let writable: Vec<_> =
        exposures.iter().filter(|exposure| exposure.mode == ExposeMode::ReadWrite).collect();
    if writable.is_empty() {
        return Vec::new();
    }
    let homes = home_dirs(env);
    let known = system_directories().map(Path::to_owned).chain(homes.iter().cloned()).collect::<Vec<_>>();
    let landmarks = Landmarks::new(known.iter().map(PathBuf::as_path));
    let warning = |exposure: &Expose| {
        let paths = landmarks.paths(&canonicalize_existing(&exposure.source));
        let system = paths.iter().find_map(|path| system_directory(path)).map(|path| ("system", path));
        let home = || homes.iter().find(|home| paths.iter().any(|path| home.starts_with(path)));
        let (kind, directory) = system.or_else(|| Some(("home", home()?.as_path())))?;
        let (source, directory) = (printable_path(&exposure.source), printable_path(directory));
        Some(format!(
            "`{source}` is exposed read-write: commands may change the {kind} directory `{directory}`"
        ))
    };
    writable.into_iter().filter_map(warning).collect()
}

fn faults(
    workspaces: Vec<(AgentId, PathBuf)>,
    home: &Path,
    files: [&Path; 2],
    env: &ProcessEnv,
) -> Vec<WorkspaceFault> {
    // Both the link and its target must be out of reach of an agent.
    let files: Vec<_> =
        files.iter().flat_map(|file| [canonicalize_existing(file), canonical_file(file)]).collect();
    let (instance, homes) = (canonicalize_existing(home), home_dirs(env));
    let canonical: Vec<_> = workspaces.iter().map(|(_, named)| canonicalize_existing(named)).collect();
    let mut known: Vec<&Path> = system_directories().collect();
    known.extend(files.iter().chain(homes).chain(&canonical).chain([&instance]).map(PathBuf::as_path));
    let landmarks = Landmarks::new(known.into_iter());
    let place = |((agent, named), canonical): ((AgentId, PathBuf), &PathBuf)| WorkspacePlace {
        agent,
        named,
        paths: landmarks.paths(canonical),
    };
    let places: Vec<_> = workspaces.into_iter().zip(&canonical).map(place).collect();
    let files: Vec<_> =
        files.iter().chain([&instance]).flat_map(|path| landmarks.mounts.aliases(path)).collect();
    check_workspaces(&places, &ReservedPaths { instance: &instance, homes, files: &files })
}

/// Directories by identity, and the mounts: another name of one is recognised by either.
struct Landmarks {
    known: Vec<((u64, u64), PathBuf)>,
    mounts: MountTable,
}

impl Landmarks {
    /// These paths and the directories above them, as far as they exist.
    fn new<'p>(paths: impl Iterator<Item = &'p Path>) -> Self {
        let mut all: Vec<&Path> = paths.flat_map(Path::ancestors).collect();
        all.sort_unstable();
        all.dedup();
        let known = all.into_iter().filter_map(|path| Some((identity(path)?, path.to_owned()))).collect();
        Self { known, mounts: MountTable::read() }
    }

    /// `path`, and its other names as far as these directories tell.
    fn paths(&self, path: &Path) -> Vec<PathBuf> {
        let mut paths = self.mounts.aliases(path);
        for above in path.ancestors() {
            let (Some(own), Ok(rest)) = (identity(above), path.strip_prefix(above)) else { continue };
            let same = self.known.iter().filter(|(other, known)| *other == own && known != above);
            paths.extend(same.map(|(_, known)| known.components().chain(rest.components()).collect()));
        }
        paths
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    statat(CWD, path, AtFlags::empty()).ok().map(|found| identity_of(&found))
}

/// The canonical path of the file's own name, not of its target.
fn canonical_file(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(directory), Some(name)) => canonicalize_existing(directory).join(name),
        _ => canonicalize_existing(file),
    }
}

/// `path` with its links resolved, as far as it exists. Dots are folded first, as they are when the
/// path is used.
fn canonicalize_existing(path: &Path) -> PathBuf {
    let folded = CleanPath::absolute(path);
    let path = folded.as_ref().map_or(path, CleanPath::as_path);
    let mut rest = Vec::new();
    let mut known = path;
    loop {
        if let Ok(canonical) = known.canonicalize() {
            return rest.iter().rev().fold(canonical, |path, name| path.join(name));
        }
        match (known.parent(), known.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                known = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Home directories, canonical and under every name that a mount gives them: this user's, and those
/// of accounts that are not system accounts.
fn home_dirs(env: &ProcessEnv) -> &[PathBuf] {
    env.homes.get_or_init(|| {
        let mut homes: Vec<PathBuf> = env.user_home().into_iter().collect();
        homes.extend(env.account_home.clone());
        // Without an account list, only this user's home is known.
        let accounts = read_bytes(Path::new("/etc/passwd")).ok().flatten();
        let people = accounts.as_ref().map(|(bytes, _)| home_directories(bytes)).unwrap_or_default();
        homes.extend(people.into_iter().map(|home| PathBuf::from(platform::name_of(home))));
        homes.sort();
        homes.dedup();
        let mounts = MountTable::read();
        homes.iter().flat_map(|home| mounts.aliases(&canonicalize_existing(home))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_does_not_hide_where_a_workspace_is() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&top, top.join("link")).unwrap();
        assert_eq!(canonicalize_existing(&top.join("link/not/yet")), top.join("not/yet"));
        assert_eq!(canonicalize_existing(Path::new("/not/there/../../usr")), PathBuf::from("/usr"));
    }

    #[test]
    fn a_directory_is_known_by_its_identity() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("one/deep")).unwrap();
        std::os::unix::fs::symlink(top.join("one"), top.join("other")).unwrap();
        // A link stands for a bind mount here: metadata follows it, and its path was not resolved.
        let landmarks = Landmarks::new([top.join("one")].iter().map(PathBuf::as_path));
        let names = landmarks.paths(&top.join("other/deep/not/yet"));
        for name in [top.join("other/deep/not/yet"), top.join("one/deep/not/yet")] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(!landmarks.paths(&top.join("one/deep")).contains(&top.join("other/deep")));
    }
}
