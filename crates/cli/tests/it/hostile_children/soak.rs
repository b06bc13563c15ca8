//! Many hostile trees, several at a time, leave nothing: `make soak` has 1,000 of them (`PICOCLAW_SOAK=1`), an ordinary run
//! one of each kind.
//!
//! Each is bounded: fifty processes, 96 MB, one second before its deadline.

use super::deadline::{TREE, end_all, promise};
use super::{Bwrap, Landlock, Level, Native, Project, alive, alone, gone_after, marker};
use picoclaw_testing::PATIENCE;
use std::path::Path;
use std::time::{Duration, Instant};

const MEMORY: &str = include_str!("memory.py");
const PRIORITY: &str = include_str!("priority.py");
const SET_ID: &str = include_str!("set_id.py");

/// Closes what it has, and stays.
const CLOSE: &str = "import os, time
for _ in range(20):
    if os.fork() == 0: break
os.closerange(0, 64)
time.sleep(60)";

/// Stops its parent, its group and itself, and goes on in a child.
const STOP: &str = "import os, signal, time
if os.fork() == 0:
    os.setsid()
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(60)
os.kill(0, signal.SIGSTOP)
time.sleep(60)";

/// A hostile program and its arguments; the mark follows.
const KINDS: &[(&str, &[&str])] = &[
    (TREE, &["busy", "50"]),
    (TREE, &["forking", "50"]),
    (TREE, &["sessions", "50"]),
    (TREE, &["stopped", "50"]),
    (MEMORY, &["private", "96"]),
    (MEMORY, &["shared", "96"]),
    (MEMORY, &["shared_by_dead_child", "96"]),
    (MEMORY, &["tree", "96"]),
    (MEMORY, &["memfd", "96"]),
    (MEMORY, &["memfd_in_flight", "96"]),
    (MEMORY, &["system_v", "96"]),
    (MEMORY, &["tmp", "96"]),
    (MEMORY, &["sockets", "96"]),
    (PRIORITY, &["-1", "64999"]),
    (SET_ID, &["try", "4755"]),
    (CLOSE, &[]),
    (STOP, &[]),
];

/// What the host has that a tree could have left. Other tests have some of it for a moment each.
struct Host {
    mounts: usize,
    segments: usize,
    /// Files in memory, and cgroups of launchers that have ended.
    names: Vec<String>,
}

fn names(dir: &Path, of: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| of(name));
    names.sort();
    names
}

fn cgroups(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some((launcher, _)) =
                name.strip_prefix("picoclaw-tree-").and_then(|rest| rest.split_once('-'))
                && !Path::new("/proc").join(launcher).exists()
            {
                found.push(path.display().to_string());
            }
            cgroups(&path, found);
        }
    }
}

impl Host {
    fn now() -> Self {
        let lines = |path: &str| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
        let of_ours = |name: &str| name.starts_with("fill-");
        let dirs = [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()];
        let mut all = dirs.map(|dir| names(&dir, of_ours)).concat();
        cgroups(Path::new("/sys/fs/cgroup"), &mut all);
        Self { mounts: lines("/proc/self/mountinfo"), segments: lines("/proc/sysvipc/shm"), names: all }
    }

    /// What there is more of now.
    fn left(&self) -> Vec<String> {
        let now = Self::now();
        let mut left: Vec<_> = now.names.into_iter().filter(|name| !self.names.contains(name)).collect();
        for (what, before, now) in
            [("mounts", self.mounts, now.mounts), ("System V segments", self.segments, now.segments)]
        {
            left.extend((now > before).then(|| format!("{what}: {now}, {before} before")));
        }
        left
    }
}

/// One tree; every fifth loses its launcher at some moment.
fn tree(project: &Project, round: usize) -> Result<(), String> {
    let (script, words) = KINDS[round % KINDS.len()];
    let mark = marker();
    let flags = ["--timeout", "1s", "--memory", "64M"];
    let words = [&["python3", "-c", script], words, &[&mark]].concat();
    if round % 5 == 4 {
        let mut launcher =
            project.command(&flags, &words).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis((round * 37 % 700) as u64));
        launcher.kill().and_then(|()| launcher.wait()).unwrap();
    } else {
        let told = project.run(&flags, &words);
        if told.code == 125 {
            return Err(format!("round {round}: {told:?}"));
        }
    }
    let left = gone_after(&mark, promise().1).is_none().then(|| alive(&mark));
    end_all(&mark);
    left.map_or(Ok(()), |count| Err(format!("round {round}: {:?}: {count} processes", words[3..].to_vec())))
}

fn many(level: Level) {
    let _turn = alone();
    let (count, lanes) = match std::env::var_os("PICOCLAW_SOAK") {
        Some(_) => (1_000, 6),
        None => (KINDS.len(), 2),
    };
    let Some(project) = Project::new(level) else { return };
    let before = Host::now();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let lane = |lane| {
            let project = &project;
            scope.spawn(move || {
                let rounds = (lane..count).step_by(lanes);
                rounds.filter_map(|round| tree(project, round).err()).collect::<Vec<_>>()
            })
        };
        let lanes: Vec<_> = (0..lanes).map(lane).collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{level:?}: {faults:#?}");
    assert_eq!(project.sh(&[], "true").code, 0, "{level:?}: and it still works");
    let until = Instant::now() + PATIENCE;
    let mut left = before.left();
    while !left.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        left = before.left();
    }
    assert!(left.is_empty(), "{level:?}: left: {left:?}");
    let running = names(&project.instance.home().join("state/running"), |_| true);
    assert!(running.is_empty(), "{level:?}: stale records: {running:?}");
    let verified = project.instance.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{level:?}: {verified:?}");
}

#[test]
fn hostile_trees_leave_nothing() {
    many(Native);
}

#[test]
fn hostile_trees_leave_nothing_in_bubblewrap() {
    many(Bwrap);
}

#[test]
fn hostile_trees_leave_nothing_without_namespaces() {
    many(Landlock);
}
