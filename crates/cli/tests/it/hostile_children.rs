//! Hostile programs under `picoclaw run`: what they try against the operator, the host and the limits.
//!
//! One file a topic. Each attack has a control run that must succeed: the same program without a cage, or an innocent
//! relative of it inside.

mod backends;
mod bubblewrap;
mod core_limit;
mod deadline;
mod descriptors;
mod home;
pub(crate) mod ipc;
mod memory;
mod mounts;
mod output;
mod priority;
mod protected;
mod protected_search;
mod set_id;
mod shortage;
mod soak;
mod supervisor;
mod terminal;
mod workspaces;

use crate::run::{alive, is_here, marker};
use crate::test_instance::{Ran, TestInstance, ran};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Runs its arguments where namespaces are refused, as container runtimes do: `unshare`, `setns` and `clone` with
/// `CLONE_NEW*` answer EPERM, `clone3` ENOSYS.
const WITHOUT_NAMESPACES: &str = include_str!("hostile_children/without_namespaces.pl");

/// Programs of the system alone: shims in a home directory need that home.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// By what a command is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Native,
    Bwrap,
    Landlock,
}

use Level::{Bwrap, Landlock, Native};

/// A project beside an instance, both temporary, whose commands run at one level.
struct Project {
    instance: TestInstance,
    level: Level,
}

impl Project {
    /// Nothing where this host does not have that level; the skip is reported.
    fn new(level: Level) -> Option<Self> {
        Self::with_isolation(level, "")
    }

    /// The same, with more `isolation` settings, such as `, "limits": {"processes": 64}`.
    fn with_isolation(level: Level, more: &str) -> Option<Self> {
        if !is_here("python3") || !is_here("perl") || (level == Bwrap && !is_here("bwrap")) {
            return None;
        }
        let backend = match level {
            Native => "native",
            Bwrap => "bwrap",
            Landlock => "auto",
        };
        let config = format!(r#"{{"isolation": {{"backend": "{backend}"{more}}}}}"#);
        let project = Self { instance: TestInstance::with_config(&config), level };
        std::fs::create_dir(project.dir()).unwrap();
        let told = project.sh(&[], "true");
        if told.code == 125 {
            picoclaw_testing::skip!("this host has no {level:?} level: {}", told.stderr);
            return None;
        }
        assert_eq!(told.code, 0, "{level:?}: {told:?}");
        assert_eq!(project.sees_the_host(), level == Landlock, "{level:?}: another level was taken");
        Some(project)
    }

    /// Whether commands see the host's tree: without namespaces only reading is refused, not looking.
    fn sees_the_host(&self) -> bool {
        let beside = self.file("beside", "");
        self.sh(&[], &format!("test -e {}", beside.display())).code == 0
    }

    fn dir(&self) -> PathBuf {
        self.instance.dir().join("project")
    }

    /// Writes a file relative to the temporary directory that holds the project.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.instance.dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `picoclaw run` with these flags and this command, in the project; `wrapper` starts it.
    fn wrapped(&self, wrapper: &[&str], flags: &[&str], words: &[&str]) -> Command {
        let (before, network): (&[&str], &[&str]) = match self.level {
            Landlock => (&["perl", "-e", WITHOUT_NAMESPACES], &["--net", "host"]),
            Native | Bwrap => (&[], &[]),
        };
        let arguments = [&["run"], network, flags, &["--"], words].concat();
        let mut command = self.instance.wrapped(&[wrapper, before].concat(), &arguments);
        // Without the warnings that a lower level gives at each start.
        command.current_dir(self.dir()).env("PATH", SYSTEM_PATH).env("PICOCLAW_LOG_LEVEL", "error");
        command
    }

    fn command(&self, flags: &[&str], words: &[&str]) -> Command {
        self.wrapped(&[], flags, words)
    }

    /// Runs it to its end, which an outer limit brings about after a minute at the latest.
    fn run(&self, flags: &[&str], words: &[&str]) -> Ran {
        ran(self.wrapped(&["timeout", "-k", "1", "60"], flags, words).output().unwrap())
    }

    fn sh(&self, flags: &[&str], line: &str) -> Ran {
        self.run(flags, &["sh", "-c", line])
    }

    fn python(&self, flags: &[&str], script: &str, arguments: &[&str]) -> Ran {
        self.run(flags, &[&["python3", "-c", script], arguments].concat())
    }
}

/// A program on the host, the control of an attack; an outer limit ends it as well.
fn outside(dir: &std::path::Path, words: &[&str]) -> Ran {
    let mut command = Command::new("timeout");
    command.args(["-k", "1", "60"]).args(words).current_dir(dir).env("PATH", SYSTEM_PATH);
    ran(command.output().unwrap())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// One at a time: tests that load the machine.
fn alone() -> MutexGuard<'static, ()> {
    static LOAD: Mutex<()> = Mutex::new(());
    LOAD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long it took until no process with `mark` in its command line was left; `None` after `limit`.
fn gone_after(mark: &str, limit: Duration) -> Option<Duration> {
    let start = Instant::now();
    loop {
        if alive(mark) == 0 {
            return Some(start.elapsed());
        }
        if start.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What did not hold, row by row: a table is tried to its end before its test fails.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn check(&mut self, holds: bool, what: impl std::fmt::Display) {
        if !holds {
            self.0.push(what.to_string());
        }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        assert!(
            std::thread::panicking() || self.0.is_empty(),
            "{} faults:\n{}",
            self.0.len(),
            self.0.join("\n")
        );
    }
}
