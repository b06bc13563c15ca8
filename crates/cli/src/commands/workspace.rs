//! `-C DIR`: an agent's tools work in a project instead of the configured workspace. At a terminal
//! inside a project a person is asked once, and the answer is remembered.

use super::project::{canonical_dir, root_fault};
use crate::print;
use crate::settings::{ProcessEnv, Settings, workspace_fault_in};
use anyhow::{Result, bail};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Expose, ExposeMode};
use picoclaw_sandbox::isolate::{ProjectRoot, RootKind, find_project_root};
use picoclaw_sandbox::printable;
use picoclaw_sandbox::project_envs::{ProjectAnswer, ProjectEnvs};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// Whether a person can be asked about the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// At a terminal.
    Person,
    /// Only what was answered before counts.
    Unattended,
}

/// A directory that an agent can work in.
struct Workspace {
    path: PathBuf,
    exposures: Vec<Expose>,
}

impl Workspace {
    /// The project that `dir` lies in: the enclosing git work tree, else the directory itself.
    fn of(dir: PathBuf, found: Option<ProjectRoot>) -> Self {
        let expose = |path: PathBuf, mode| Expose { source: path.clone(), target: path, mode };
        match found {
            None => Self { path: dir, exposures: Vec::new() },
            Some(ProjectRoot { path, kind: RootKind::WorkTree(git_dir) }) => {
                let exposures = git_dir.into_iter().map(|path| expose(path, ExposeMode::ReadWrite));
                Self { path, exposures: exposures.collect() }
            }
            Some(ProjectRoot { path, kind: RootKind::Manifest(_) }) => {
                Self { path: dir, exposures: vec![expose(path, ExposeMode::ReadOnly)] }
            }
        }
    }

    /// The settings with this workspace for `agent`, under the checks of a configured one.
    fn apply(&self, agent: &AgentId, loaded: &Settings, env: &ProcessEnv) -> Result<Settings> {
        let mut loaded = loaded.clone();
        for own in loaded.config.agents.iter_mut().filter(|own| own.id == *agent) {
            own.workspace = Some(self.path.clone());
            own.in_project = true;
        }
        loaded.config.isolation.expose_paths.splice(0..0, self.exposures.iter().cloned());
        match workspace_fault_in(&loaded.config, &loaded, env) {
            Some(fault) => bail!("{fault}\nhint: name a project's directory with `-C`"),
            None => Ok(loaded),
        }
    }
}

/// The settings with the project at `named` as the workspace of `agent`.
pub(crate) fn named_workspace(
    named: &Path,
    agent: &AgentId,
    loaded: &Settings,
    env: &ProcessEnv,
) -> Result<Settings> {
    let dir = canonical_dir(named)?;
    let found = match find_project_root(&dir, &|path| root_fault(path, loaded, env)) {
        Ok(found) => found,
        Err(refused) => {
            print::note(&format!("picoclaw: {}", printable(&refused.to_string())));
            None
        }
    };
    let workspace = Workspace::of(dir.clone(), found);
    if workspace.path != dir {
        let root = workspace.path.to_string_lossy();
        print::note(&format!("picoclaw: the workspace is `{}`, a git work tree", printable(&root)));
    }
    workspace.apply(agent, loaded, env)
}

/// The settings with the project of the current directory as the workspace of `agent`, if a person
/// says or said so; `None` outside a project.
pub(crate) fn project_here(
    agent: &AgentId,
    loaded: &Settings,
    env: &ProcessEnv,
    asking: Asking,
) -> Result<Option<Settings>> {
    let Some(dir) = std::env::current_dir().ok().and_then(|dir| dir.canonicalize().ok()) else {
        return Ok(None);
    };
    let Ok(Some(found)) = find_project_root(&dir, &|path| root_fault(path, loaded, env)) else {
        return Ok(None);
    };
    let workspace = Workspace::of(dir, Some(found));
    let Ok(settings) = workspace.apply(agent, loaded, env) else { return Ok(None) };
    let envs = ProjectEnvs::open(&loaded.home)?;
    let answer = match (envs.answer(agent, &workspace.path)?, asking) {
        (Some(answer), _) => answer,
        (None, Asking::Unattended) => return Ok(None),
        (None, Asking::Person) => {
            let own = loaded.config.workspace_of(agent, &loaded.home);
            let Some(answer) = ask(&workspace.path, agent, &own)? else { return Ok(None) };
            envs.remember(agent, &workspace.path, answer)?;
            answer
        }
    };
    Ok((answer == ProjectAnswer::Yes).then_some(settings))
}

/// Asks a person; the end of input answers nothing.
fn ask(project: &Path, agent: &AgentId, own: &Path) -> Result<Option<ProjectAnswer>> {
    let (project, own) = (project.to_string_lossy(), own.to_string_lossy());
    // Not locked: a signal that ends the program writes there too.
    let mut out = std::io::stdout();
    writeln!(out, "This is a project: {}", printable(&project))?;
    writeln!(out, "Agent {agent} may read, write and run commands in it, or work in {}.", printable(&own))?;
    loop {
        write!(out, "Work in this project? [Y/n] (asked once for this directory) ")?;
        out.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(None);
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(Some(ProjectAnswer::Yes)),
            "n" | "no" => return Ok(Some(ProjectAnswer::No)),
            _ => {}
        }
    }
}
