//! The check of workspaces on this machine: links resolved, home directories found.
//!
//! Invariant: only looks; a workspace that does not exist yet is judged by the part of its path that does.

use super::file::read_bytes;
use super::load::Loaded;
use super::surroundings::Surroundings;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, Grounds, WorkspaceFault, check_workspaces};
use picoclaw_sandbox::isolate::Survey;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What is wrong with where the workspaces are.
pub(super) fn check(
    config: &Config,
    home: &Path,
    files: [&Path; 2],
    surroundings: &Surroundings,
) -> Vec<WorkspaceFault> {
    let survey = &surroundings.survey;
    let place = |agent: &AgentId| (agent.clone(), settled(&config.workspace_of(agent, home), survey));
    let workspaces: Vec<_> = config.agents.iter().map(|agent| place(&agent.id)).collect();
    // A link to a file can be replaced where it lies, and the file where it leads: neither place may be an agent's.
    let files: Vec<_> = files.iter().flat_map(|file| [settled(file, survey), lies(file, survey)]).collect();
    let instance = settled(home, survey);
    check_workspaces(&workspaces, &Grounds { instance: &instance, homes: homes(surroundings), files: &files })
}

/// Where a file's own name is, whatever it leads to.
fn lies(file: &Path, survey: &Survey) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(directory), Some(name)) => settled(directory, survey).join(name),
        _ => settled(file, survey),
    }
}

/// What is wrong with `workspace`, canonical, as the only one, under what was loaded.
pub(crate) fn fault_of(
    workspace: &Path,
    agent: &AgentId,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Option<WorkspaceFault> {
    let survey = &surroundings.survey;
    let files = [settled(&loaded.config_path, survey), settled(&loaded.secrets_path, survey)];
    let instance = settled(&loaded.home, survey);
    let grounds = Grounds { instance: &instance, homes: homes(surroundings), files: &files };
    check_workspaces(&[(agent.clone(), workspace.to_owned())], &grounds).into_iter().next()
}

/// What is wrong with the workspaces of `config`, which is in force instead of what was loaded.
pub(crate) fn fault_in(
    config: &Config,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Option<WorkspaceFault> {
    let files = [loaded.config_path.as_path(), loaded.secrets_path.as_path()];
    check(config, &loaded.home, files, surroundings).into_iter().next()
}

/// `path` with its links resolved, as far as it exists.
fn settled(path: &Path, survey: &Survey) -> PathBuf {
    let mut rest = Vec::new();
    let mut known = path;
    loop {
        if let Some(canonical) = survey.resolve(known) {
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

/// Home directories of people, resolved: this user's, and those of accounts that are no system accounts.
fn homes(surroundings: &Surroundings) -> &[PathBuf] {
    surroundings.homes.get_or_init(|| {
        let mut homes: Vec<PathBuf> = surroundings.user_home().into_iter().collect();
        homes.extend(surroundings.account_home.clone());
        // Without an account list, what is known of this user has to do.
        let accounts = read_bytes(Path::new("/etc/passwd")).ok().flatten();
        let lines = accounts.iter().flat_map(|(bytes, _)| bytes.split(|byte| *byte == b'\n'));
        homes.extend(lines.filter_map(home_of_person));
        homes.sort();
        homes.dedup();
        homes.iter().map(|home| settled(home, &surroundings.survey)).collect()
    })
}

/// By bytes: every start reads every account, and a home need not be text.
fn home_of_person(line: &[u8]) -> Option<PathBuf> {
    let (mut starts, mut field) = ([0; 7], 0);
    for (at, byte) in line.iter().enumerate() {
        if *byte == b':' {
            field += 1;
            let Some(start) = starts.get_mut(field) else { break };
            *start = at + 1;
        }
    }
    let uid: u32 = std::str::from_utf8(line.get(starts[2]..starts[3].checked_sub(1)?)?).ok()?.parse().ok()?;
    let person = uid == 0 || (1_000..65_534).contains(&uid);
    let end = if field > 5 { starts[6] - 1 } else { line.len() };
    let home = line.get(starts[5]..end).filter(|_| person && field > 4)?;
    home.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_homes_and_system_accounts_do_not() {
        for (line, want) in [
            ("root:x:0:0:root:/root:/bin/bash", Some("/root")),
            ("user:x:1000:1000:,,,:/home/user:/bin/bash", Some("/home/user")),
            ("daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin", None),
            ("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin", None),
            ("user:x:1000:1000::/home/user", Some("/home/user")),
            ("user:x:1000:1000::home:/bin/sh", None),
            ("user:x:1000:1000::/home/user:/bin/sh:more:and:more", Some("/home/user")),
            ("user:x:1000", None),
            ("user:x:1000:1000:", None),
            ("user:x::1000::/home/user:/bin/sh", None),
            ("broken", None),
            ("", None),
        ] {
            assert_eq!(home_of_person(line.as_bytes()), want.map(PathBuf::from), "`{line}`");
        }
    }

    #[test]
    fn a_link_does_not_hide_where_a_workspace_is() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&top, top.join("link")).unwrap();
        assert_eq!(settled(&top.join("link/not/yet"), &Survey::default()), top.join("not/yet"));
    }
}
