//! `picoclaw clean`: removes user environments of projects, and what killed programs left behind.
//!
//! Invariant: what a running command uses stays, and so do workspaces, sessions and the audit log.

use crate::arguments::CleanArguments;
use crate::commands::mcp::recorded;
use crate::exit::Exit;
use crate::print;
use crate::progress::Progress;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::presence::ProcessRegistry;
use picoclaw_sandbox::project_envs::{EnvOwner, ProjectEnv, ProjectEnvs, Removal};
use picoclaw_sandbox::state_dir::StateDir;
use picoclaw_sandbox::{printable, printable_json, printable_path};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A user environment, and what becomes of it.
struct Item {
    env: ProjectEnv,
    action: Action,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Remove,
    Keep,
    InUse,
}

/// Removes, or only lists.
pub(crate) fn run(arguments: &CleanArguments, loaded: &Settings) -> Result<Exit> {
    if !Instance::exists(&loaded.home) {
        print::note(&format!("there is no instance in `{}`", printable_path(&loaded.home)));
        return Ok(Exit::Done);
    }
    let progress = Progress::of("measuring user environments");
    let envs = ProjectEnvs::open(&loaded.home)?;
    let found = envs.list()?;
    let is_unknown = |named: &&PathBuf| !found.iter().any(|env| is_named(env, named));
    if let Some(named) = arguments.projects.iter().find(is_unknown) {
        print::note(&format!("error: `{}` has no user environment", printable(&named.to_string_lossy())));
        print::note("hint: `picoclaw clean --dry-run` lists them");
        return Ok(Exit::Usage);
    }
    let mut items = Vec::new();
    for env in found {
        let action = decide(&env, &envs, arguments)?;
        items.push(Item { env, action });
    }
    let stale = stale_files(&loaded.home)?;
    drop(progress);
    let mut freed =
        items.iter().filter(|item| item.action == Action::Remove).map(|item| item.env.bytes).sum();
    if !arguments.dry_run && (!stale.is_empty() || items.iter().any(|item| item.action == Action::Remove)) {
        let _progress = Progress::of("removing");
        let intent = intent(&items, &stale);
        freed = recorded(loaded, "clean", &intent, || remove(&mut items, &envs, &loaded.home))??;
    }
    if arguments.json {
        print_json(&items, &stale, freed, arguments)?;
    } else {
        print_text(&items, &stale, freed, arguments)?;
    }
    let is_refused = !arguments.projects.is_empty() && items.iter().any(|item| item.action == Action::InUse);
    Ok(if is_refused { Exit::Refused } else { Exit::Done })
}

fn decide(env: &ProjectEnv, envs: &ProjectEnvs, arguments: &CleanArguments) -> Result<Action> {
    let is_meant = match &arguments.projects[..] {
        [] => arguments.all || matches!(&env.owner, EnvOwner::Project(path) if is_gone(path)),
        projects => projects.iter().any(|named| is_named(env, named)),
    };
    Ok(match is_meant {
        false => Action::Keep,
        true if envs.is_in_use(env)? => Action::InUse,
        true => Action::Remove,
    })
}

/// Whether the operator means this environment: by the project's directory, or by its own name.
fn is_named(env: &ProjectEnv, named: &Path) -> bool {
    let is_project = |path: &Path| matches!(&env.owner, EnvOwner::Project(project) if project == path);
    let full = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    let by_name = env.directory == named || env.directory.file_name() == Some(named.as_os_str());
    by_name
        || env.path == full
        || is_project(&full)
        || full.canonicalize().is_ok_and(|real| is_project(&real))
}

/// Whether there is nothing at `path`. A directory that cannot be looked at is there.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|why| matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// The directories of the instance in which writers make temporary files.
fn state_dirs(home: &Path) -> Result<Vec<StateDir>> {
    let state = StateDir::of_instance(home)?;
    let mut dirs = vec![StateDir::of_logs(home)?];
    for name in state.subdir_names()? {
        dirs.extend(state.open_subdir(&name)?);
    }
    dirs.push(state);
    Ok(dirs)
}

/// Entries of programs that no longer run, and temporary files of writers that were killed.
fn stale_files(home: &Path) -> Result<Vec<PathBuf>> {
    let mut stale = ProcessRegistry::open(home)?.stale_entries()?;
    for dir in state_dirs(home)? {
        stale.extend(dir.stale_temps()?.into_iter().map(|name| dir.path().join(name)));
    }
    Ok(stale)
}

/// Removes what was chosen; the bytes that are free now.
fn remove(items: &mut [Item], envs: &ProjectEnvs, home: &Path) -> Result<u64> {
    // This removes the entries of programs that no longer run.
    ProcessRegistry::open(home)?.others()?;
    for dir in state_dirs(home)? {
        for name in dir.stale_temps()? {
            dir.remove(&name)?;
        }
    }
    let mut freed = 0;
    for item in items.iter_mut().filter(|item| item.action == Action::Remove) {
        match envs.remove(&item.env)? {
            Removal::Removed(bytes) => freed += bytes,
            Removal::InUse => item.action = Action::InUse,
        }
    }
    Ok(freed)
}

/// The act, for the audit log.
fn intent(items: &[Item], stale: &[PathBuf]) -> String {
    let removed = items.iter().filter(|item| item.action == Action::Remove);
    let names: Vec<_> = removed.map(|item| item.env.directory.display().to_string()).collect();
    format!("remove {} user environments ({}) and {} stale files", names.len(), names.join(", "), stale.len())
}

fn print_text(items: &[Item], stale: &[PathBuf], freed: u64, arguments: &CleanArguments) -> Result<()> {
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    for Item { env, action } in items {
        let what = match action {
            Action::Remove => done,
            Action::Keep => "kept",
            Action::InUse => "in use",
        };
        let path = env.path.to_string_lossy();
        print::line(&format!("{what}  {}  {}  {}", printable(&path), size(env.bytes), owner(&env.owner)))?;
    }
    for path in stale {
        print::line(&format!("{done}  {}  left behind by a killed program", path.display()))?;
    }
    let frees = if arguments.dry_run { "would free" } else { "freed" };
    print::line(&format!("{frees} {}", size(freed)))?;
    Ok(())
}

fn owner(owner: &EnvOwner) -> String {
    match owner {
        EnvOwner::Project(path) => {
            let gone = if is_gone(path) { ", which is gone" } else { "" };
            format!("project `{}`{gone}", printable(&path.to_string_lossy()))
        }
        EnvOwner::Unknown => "a project whose path is not known".to_owned(),
    }
}

fn print_json(items: &[Item], stale: &[PathBuf], freed: u64, arguments: &CleanArguments) -> Result<()> {
    let environments: Vec<_> = items
        .iter()
        .map(|Item { env, action }| {
            let (project, kind) = match &env.owner {
                EnvOwner::Project(path) => (Some(path.to_string_lossy().into_owned()), "project"),
                EnvOwner::Unknown => (None, "unknown"),
            };
            let action = match action {
                Action::Remove => "remove",
                Action::Keep => "keep",
                Action::InUse => "in_use",
            };
            json!({"path": env.path.to_string_lossy(), "kind": kind, "project": project, "bytes": env.bytes, "action": action})
        })
        .collect();
    let stale: Vec<_> = stale.iter().map(|path| path.to_string_lossy()).collect();
    let all = json!({"dry_run": arguments.dry_run, "environments": environments, "stale": stale, "freed_bytes": freed});
    print::line(&printable_json(&all)?)?;
    Ok(())
}

/// A size for people, in binary units.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}
