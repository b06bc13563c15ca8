//! `picoclaw run` from the outside: the real binary, real cages, a real terminal.

mod agents;
mod by_name;
mod cache;
mod crowd;
mod debug;
mod everyday;
mod git_settings;
mod host_agents;
mod jobs;
mod network;
mod profile;
pub(crate) mod pty;
mod publish;
mod root;
mod signals;
mod status;
mod streams;
mod supervisor;
mod terminal;
mod view;

use crate::test_instance::{Ran, TestInstance, has_native_cage, ran};
use std::path::PathBuf;
use std::process::Command;

/// A project beside an instance, both temporary.
struct Project {
    instance: TestInstance,
}

impl Project {
    /// Nothing where this host gives no cage, said loudly.
    fn new(why: &str) -> Option<Self> {
        Self::with_config(why, "{}")
    }

    fn with_config(why: &str, config: &str) -> Option<Self> {
        let instance = TestInstance::with_config(config);
        std::fs::create_dir(instance.dir().join("project")).unwrap();
        has_native_cage(why).then_some(Self { instance })
    }

    fn dir(&self) -> PathBuf {
        self.instance.dir().join("project")
    }

    /// `picoclaw run` with these arguments, in the project.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.instance.command(&["run"]);
        // Programs of the system alone: shims in a home need that home.
        command.args(arguments).current_dir(self.dir()).env("PATH", SYSTEM_PATH);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    /// A shell line in the cage.
    fn sh(&self, line: &str) -> Ran {
        self.run(&["--", "sh", "-c", line])
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.instance.dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether a program of the system is installed; says so when it is not.
pub(crate) fn is_here(tool: &str) -> bool {
    let here = std::env::split_paths(SYSTEM_PATH).any(|dir| dir.join(tool).exists());
    if !here {
        picoclaw_testing::skip!("{tool} is not installed");
    }
    here
}

/// Text that is in no other process's command line.
pub(crate) fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("98765.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes of this host have `text` in their command line.
pub(crate) fn alive(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}
