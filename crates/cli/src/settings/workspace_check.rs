//! Checks the workspaces on this host: links resolved, home directories found. A workspace that
//! does not exist is judged by the part of its path that does.

use super::file::read_bytes;
use super::load::Settings;
use super::process_env::ProcessEnv;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, ReservedPaths, WorkspaceFault, check_workspaces, home_directories};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The faults of the workspaces.
pub(super) fn check(
    config: &Config,
    home: &Path,
    files: [&Path; 2],
    env: &ProcessEnv,
) -> Vec<WorkspaceFault> {
    let place = |agent: &AgentId| (agent.clone(), canonicalize_existing(&config.workspace_of(agent, home)));
    let workspaces: Vec<_> = config.agents.iter().map(|agent| place(&agent.id)).collect();
    // Both the link and its target must be out of reach of an agent.
    let files: Vec<_> =
        files.iter().flat_map(|file| [canonicalize_existing(file), canonical_file(file)]).collect();
    let instance = canonicalize_existing(home);
    check_workspaces(
        &workspaces,
        &ReservedPaths { instance: &instance, homes: home_dirs(env), files: &files },
    )
}

/// The canonical path of the file's own name, not of its target.
fn canonical_file(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(directory), Some(name)) => canonicalize_existing(directory).join(name),
        _ => canonicalize_existing(file),
    }
}

/// The fault of `workspace`, which is canonical, as the only one, under the loaded settings.
pub(crate) fn workspace_fault(
    workspace: &Path,
    agent: &AgentId,
    loaded: &Settings,
    env: &ProcessEnv,
) -> Option<WorkspaceFault> {
    let files = [canonicalize_existing(&loaded.config_path), canonicalize_existing(&loaded.secrets_path)];
    let instance = canonicalize_existing(&loaded.home);
    let grounds = ReservedPaths { instance: &instance, homes: home_dirs(env), files: &files };
    check_workspaces(&[(agent.clone(), workspace.to_owned())], &grounds).into_iter().next()
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

/// `path` with its links resolved, as far as it exists.
fn canonicalize_existing(path: &Path) -> PathBuf {
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

/// Home directories, canonical: this user's, and those of accounts that are not system accounts.
fn home_dirs(env: &ProcessEnv) -> &[PathBuf] {
    env.homes.get_or_init(|| {
        let mut homes: Vec<PathBuf> = env.user_home().into_iter().collect();
        homes.extend(env.account_home.clone());
        // Without an account list, only this user's home is known.
        let accounts = read_bytes(Path::new("/etc/passwd")).ok().flatten();
        let people = accounts.as_ref().map(|(bytes, _)| home_directories(bytes)).unwrap_or_default();
        homes.extend(people.into_iter().map(|home| PathBuf::from(OsStr::from_bytes(home))));
        homes.sort();
        homes.dedup();
        homes.iter().map(|home| canonicalize_existing(home)).collect()
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
    }
}
