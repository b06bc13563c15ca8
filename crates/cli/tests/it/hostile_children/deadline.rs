//! C9: the deadline and the death of the launcher end a tree of a thousand processes within three seconds.
//!
//! Those are the numbers of `make soak` (`PICOCLAW_SOAK=1`), on a machine that does nothing else. Beside other tests the
//! tree is smaller and the time longer, so that only a tree that is not ended fails.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, alone, gone_after, marker};
use picoclaw_testing::wait_until;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::time::{Duration, Instant};

pub(super) const TREE: &str = include_str!("tree.py");

/// Above what a forking tree has for a moment: the deadline is to end it, not this limit.
const LIMITS: &str = r#", "limits": {"processes": 4096}"#;

/// The number of processes, and how long they may take to end, with the two seconds after SIGTERM.
pub(super) fn promise() -> (&'static str, Duration) {
    match std::env::var_os("PICOCLAW_SOAK") {
        Some(_) => ("1000", Duration::from_secs(3)),
        None => ("200", Duration::from_secs(15)),
    }
}

/// Whatever a failed test has left: no more than a thousand processes, all of them this test's.
pub(super) fn end_all(mark: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let mut left = 0;
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let number = entry.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            if let Some(pid) = number.filter(|_| String::from_utf8_lossy(&line).contains(mark)) {
                left += 1;
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if left == 0 {
            return;
        }
    }
}

fn at_the_deadline(level: Level, kinds: &[&str]) {
    let _turn = alone();
    let mut faults = Faults::default();
    let Some(project) = Project::with_isolation(level, LIMITS) else { return };
    let deadline = Duration::from_secs(3);
    let (count, promised) = promise();
    for kind in kinds {
        let mark = marker();
        let start = Instant::now();
        let told = project.python(&["--timeout", "3s"], TREE, &[kind, count, &mark]);
        let took = start.elapsed();
        let left = gone_after(&mark, Duration::from_millis(100));
        end_all(&mark);
        assert!(std::fs::remove_file(project.dir().join("up")).is_ok(), "{kind}: the tree was never up");
        let in_time = took < deadline + promised;
        faults.check(in_time && told.code == 124, format!("{level:?} {kind}: it took {took:?}: {told:?}"));
        faults.check(left.is_some(), format!("{level:?} {kind}: processes are left"));
    }
}

fn without_the_launcher(level: Level, kinds: &[&str]) {
    let _turn = alone();
    let mut faults = Faults::default();
    let Some(project) = Project::with_isolation(level, LIMITS) else { return };
    let (count, promised) = promise();
    for kind in kinds {
        let mark = marker();
        // Every process has the FIFO open, whose end tells of all their ends. A search for processes would compete with the
        // launcher for the time of their session.
        let fifo = project.dir().join(format!("ends-{kind}"));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let ends = open(&fifo, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let line = format!("exec python3 -c \"$0\" \"$@\" 3> ends-{kind}");
        let mut command = project.command(&[], &["sh", "-c", &line, TREE, kind, count, &mark]);
        let mut launcher = command.stdout(Stdio::null()).spawn().unwrap();
        wait_until("the tree is up", || project.dir().join("up").exists());
        std::fs::remove_file(project.dir().join("up")).unwrap();
        let start = Instant::now();
        launcher.kill().unwrap();
        let _ = poll(&mut [PollFd::new(&ends, PollFlags::HUP)], Some(&Timespec { tv_sec: 30, tv_nsec: 0 }));
        let took = start.elapsed();
        launcher.wait().unwrap();
        let left = gone_after(&mark, Duration::from_millis(100));
        end_all(&mark);
        faults.check(took < promised, format!("{level:?} {kind}: {took:?}"));
        faults.check(left.is_some(), format!("{level:?} {kind}: processes are left"));
    }
}

const KINDS: &[&str] = &["busy", "forking", "sessions", "stopped"];

#[test]
fn the_deadline_ends_a_thousand_processes() {
    at_the_deadline(Native, KINDS);
}

#[test]
fn the_deadline_ends_a_thousand_processes_in_bubblewrap() {
    at_the_deadline(Bwrap, &["busy", "forking"]);
}

#[test]
fn the_deadline_ends_a_thousand_processes_without_namespaces() {
    at_the_deadline(Landlock, &["sessions", "forking"]);
}

#[test]
fn the_death_of_the_launcher_ends_a_thousand_processes() {
    without_the_launcher(Native, &["sessions", "stopped"]);
}

#[test]
fn the_death_of_the_launcher_ends_a_thousand_processes_in_bubblewrap() {
    without_the_launcher(Bwrap, &["busy", "forking"]);
}

#[test]
fn the_death_of_the_launcher_ends_a_thousand_processes_without_namespaces() {
    without_the_launcher(Landlock, &["sessions", "forking"]);
}
