//! The project of `picoclaw run`: its working directory, its root, and what the root brings along.

use super::run::workspace;
use crate::print;
use crate::settings::{ProcessEnv, Settings, workspace_fault};
use anyhow::{Result, bail, ensure};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Expose, ExposeMode};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::isolate::{ProjectRoot, RootKind, find_project_root};
use picoclaw_sandbox::{printable, printable_path};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Directories of a home that hold the settings and logins of many programs.
const SETTINGS_DIRECTORIES: [&str; 5] = [".config", ".local", ".local/share", ".local/state", ".cache"];

/// What a command works on.
#[derive(Debug)]
pub(crate) struct Project {
    /// The working directory.
    pub(crate) dir: PathBuf,
    /// The directory that it may write; the working directory lies in it.
    pub(crate) root: PathBuf,
    /// What is shown besides: a git directory elsewhere, or a root that is only read.
    pub(crate) exposures: Vec<Expose>,
    /// Variables that keep tools from writing to a root that is only read.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Project {
    /// The project of the directory `named`, with the root that `--root` says.
    pub(crate) fn find(
        named: &Path,
        root: Option<&Path>,
        loaded: &Settings,
        process_env: &ProcessEnv,
    ) -> Result<Self> {
        let dir = workspace(named, loaded, process_env)?;
        match root {
            None => Ok(Self::enclosing(dir, loaded, process_env)),
            Some(none) if none.as_os_str() == "none" => Ok(Self::alone(dir)),
            Some(path) => {
                let root = workspace(&std::path::absolute(path)?, loaded, process_env)?;
                ensure!(
                    dir.starts_with(&root),
                    "`--root {}`: the working directory `{}` does not lie in it",
                    printable_path(path),
                    printable_path(&dir)
                );
                Ok(Self { root, ..Self::alone(dir) })
            }
        }
    }

    /// The directory as the command's own.
    pub(crate) fn child_dir(&self) -> ChildDir<'_> {
        ChildDir::Project { path: &self.dir, root: &self.root }
    }

    fn alone(dir: PathBuf) -> Self {
        Self { root: dir.clone(), dir, exposures: Vec::new(), variables: Vec::new() }
    }

    /// With the root that is found, which one line on standard error names if it shows more than
    /// the directory.
    fn enclosing(dir: PathBuf, loaded: &Settings, process_env: &ProcessEnv) -> Self {
        let fault = |path: &Path| root_fault(path, loaded, process_env);
        let found = match find_project_root(&dir, &fault) {
            Ok(Some(found)) => found,
            Ok(None) => return Self::alone(dir),
            Err(refused) => {
                print::note(&format!("picoclaw run: {}", printable(&refused.to_string())));
                return Self::alone(dir);
            }
        };
        if let Some(line) = root_line(&found, &dir) {
            print::note(&format!("picoclaw run: {}", printable(&line)));
        }
        let ProjectRoot { path: root, kind } = found;
        let expose = |path: PathBuf, mode| Expose { source: path.clone(), target: path, mode };
        match kind {
            RootKind::WorkTree(git_dir) => {
                let exposures = git_dir.map(|path| expose(path, ExposeMode::ReadWrite));
                Self { dir, root, exposures: exposures.into_iter().collect(), variables: Vec::new() }
            }
            RootKind::Manifest(name) => {
                // Cargo builds in the root, which is only read.
                let target = (name == "Cargo.toml").then(|| dir.join("target").into_os_string());
                let variables = target.into_iter().map(|dir| ("CARGO_TARGET_DIR".into(), dir)).collect();
                let exposures = vec![expose(root, ExposeMode::ReadOnly)];
                Self { exposures, variables, ..Self::alone(dir) }
            }
        }
    }
}

/// The line about a root that shows more than the directory.
fn root_line(found: &ProjectRoot, dir: &Path) -> Option<String> {
    let root = printable_path(&found.path);
    let shown = match &found.kind {
        RootKind::WorkTree(None) if found.path == dir => return None,
        RootKind::WorkTree(None) => format!("`{root}`, a git work tree (read-write)"),
        RootKind::WorkTree(Some(git_dir)) => {
            format!(
                "`{root}`, a git work tree, with its git directory `{}` (read-write)",
                printable_path(git_dir)
            )
        }
        RootKind::Manifest(name) => format!("`{root}`, by its {name} (read-only)"),
    };
    Some(format!("the project root is {shown}; `--root none` shows the working directory alone"))
}

/// The directory at `named`, with its links resolved.
pub(crate) fn canonical_dir(named: &Path) -> Result<PathBuf> {
    let real = match named.canonicalize() {
        Ok(real) => real,
        Err(why) => bail!("could not use `{}` as the workspace: {why}", printable_path(named)),
    };
    ensure!(real.is_dir(), "`{}` is not a directory", printable_path(named));
    Ok(real)
}

/// Why a directory is not taken as the root of a project.
pub(crate) fn root_fault(path: &Path, loaded: &Settings, process_env: &ProcessEnv) -> Option<String> {
    let name = AgentId::parse("run").unwrap_or_else(AgentId::main);
    if workspace_fault(path, &name, loaded, process_env).is_some() {
        return Some("it holds more than a project".to_owned());
    }
    let home = process_env.user_home()?.canonicalize().ok()?;
    let is_settings = SETTINGS_DIRECTORIES.iter().any(|name| path == home.join(name));
    is_settings.then(|| "it holds the settings of many programs".to_owned())
}
