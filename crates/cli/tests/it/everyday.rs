//! Everyday work, from `spec/everyday.toml`: what passes on the host passes in `picoclaw run`.

mod compare;
mod flags;

use crate::test_instance::{Ran, TestInstance, has_native_cage, ran};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The table.
#[derive(Deserialize)]
struct Table {
    task: Vec<Task>,
}

/// A row of the table, whose head describes the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    name: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    home: BTreeMap<String, String>,
    #[serde(default)]
    prepare: String,
    #[serde(default, rename = "in")]
    dir: PathBuf,
    run: String,
    #[serde(default)]
    flag: Option<String>,
}

/// Where a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Cage,
    CageWithFlag,
    /// Plain, with a readable disk and without a network.
    Bubblewrap,
    /// Of Anthropic, from npm: a readable disk, and no host.
    SandboxRuntime,
}

/// What became of a task.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// The host cannot do it either.
    Skipped(String),
    Failed(String),
}

fn tasks() -> Vec<Task> {
    toml::from_str::<Table>(include_str!("../../../../spec/everyday.toml")).unwrap().task
}

impl Task {
    /// Runs the task in a project of its own.
    fn run(&self, instance: &TestInstance, place: Place) -> Ran {
        let top = tempfile::tempdir_in(instance.dir()).unwrap();
        let project = top.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let home = self.home(top.path());
        let prepared = self.command(Command::new("sh"), &home, &project).args(["-c", &self.prepare]).output();
        let prepared = ran(prepared.unwrap());
        if prepared.code != 0 {
            return prepared;
        }
        let dir = project.join(&self.dir);
        let mut command = self.command(self.program(instance, place, &project, &dir), &home, &dir);
        if !matches!(place, Place::Host | Place::SandboxRuntime) {
            command.arg("sh");
        }
        ran(command.args(["-c", &self.run]).output().unwrap())
    }

    /// The home of the task's own files, or the home with the toolchains.
    fn home(&self, top: &Path) -> PathBuf {
        let real = std::env::home_dir().unwrap_or_default();
        if self.home.is_empty() {
            return real;
        }
        let home = top.join("home");
        std::fs::create_dir(&home).unwrap();
        self.home.iter().for_each(|(name, text)| std::fs::write(home.join(name), text).unwrap());
        home
    }

    fn program(&self, instance: &TestInstance, place: Place, project: &Path, dir: &Path) -> Command {
        let mut command = match place {
            Place::Host => return Command::new("sh"),
            Place::Bubblewrap => Command::new("bwrap"),
            Place::SandboxRuntime => Command::new("node"),
            Place::Cage | Place::CageWithFlag => Command::new(TestInstance::binary()),
        };
        match place {
            Place::Bubblewrap => {
                let words = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /var/tmp \
                    --unshare-pid --unshare-net --die-with-parent --bind";
                command.args(words.split_whitespace()).args([project, project]);
                command.arg("--chdir").arg(dir).arg("--");
            }
            Place::SandboxRuntime => {
                let writable = serde_json::json!([project, "/tmp", "/var/tmp"]);
                let settings = serde_json::json!({
                    "network": {"allowedDomains": [], "deniedDomains": []},
                    "filesystem": {"denyRead": [], "allowWrite": writable, "denyWrite": []}
                });
                let file = project.with_file_name("settings.json");
                std::fs::write(&file, settings.to_string()).unwrap();
                command.args(compare::sandbox_runtime()).arg("--settings").arg(file);
            }
            _ => {
                command.args(["run", "--timeout", "5m"]).env("PICOCLAW_HOME", instance.home());
                let flag = self.flag.as_deref().filter(|_| place == Place::CageWithFlag);
                command.args(flag.unwrap_or_default().split_whitespace()).arg("--");
            }
        }
        command
    }

    /// With an environment that is the same everywhere.
    fn command(&self, mut command: Command, home: &Path, dir: &Path) -> Command {
        let instance = command.get_envs().find(|(name, _)| *name == "PICOCLAW_HOME");
        let instance = instance.and_then(|(_, value)| value.map(ToOwned::to_owned));
        command.env_clear().envs(instance.map(|value| ("PICOCLAW_HOME", value)));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
        command.current_dir(dir).stdin(Stdio::null());
        command
    }

    fn outcome(&self, instance: &TestInstance) -> Outcome {
        if let Some(missing) = self.needs.iter().find(|program| !is_installed(program)) {
            return Outcome::Skipped(format!("{missing} is not installed"));
        }
        let host = self.run(instance, Place::Host);
        if host.code != 0 {
            return Outcome::Skipped(format!("the host cannot: {host:?}"));
        }
        let cage = self.run(instance, Place::Cage);
        let Some(flag) = &self.flag else {
            return if cage.code == 0 { Outcome::Passed } else { Outcome::Failed(format!("{cage:?}")) };
        };
        let with_flag = self.run(instance, Place::CageWithFlag);
        if with_flag.code != 0 {
            return Outcome::Failed(format!("with `{flag}`: {with_flag:?}"));
        }
        if cage.code == 0 || !cage.stderr.contains(flag) {
            return Outcome::Failed(format!("without `{flag}`, which is to be named: {cage:?}"));
        }
        Outcome::Passed
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).exists())
}

/// An instance, where this host gives a cage.
fn instance() -> Option<TestInstance> {
    has_native_cage("everyday work").then(|| TestInstance::with_config("{}"))
}

#[test]
fn what_passes_on_the_host_passes_in_the_cage() {
    let Some(instance) = instance() else { return };
    let mut failed = Vec::new();
    for task in tasks() {
        match task.outcome(&instance) {
            Outcome::Passed => {}
            Outcome::Skipped(why) => picoclaw_testing::skip!("{}: {why}", task.name),
            Outcome::Failed(why) => failed.push(format!("{}: {why}", task.name)),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
