//! C13: bubblewrap as root has the limits that the native cage has, and its program on the host cannot be written.

use super::deadline::end_all;
use super::{Bwrap, Faults, Native, Project, alive, gone_after, is_root, marker};
use std::time::Duration;

/// Forks until it is refused, at most 500 times; tells how often it could.
const FORK: &str = "import os, signal
children = []
try:
    while len(children) < 500: children.append(os.fork() or signal.pause())
except OSError: pass
for child in children: os.kill(child, 9)
print(len(children))";

#[test]
fn processes_are_limited() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(free) = Project::new(level) else { continue };
        assert_eq!(free.python(&[], FORK, &[]).stdout, "500\n", "{level:?}: the control");
        // Where only the namespace counts, 301 is its least.
        let Some(project) = Project::with_isolation(level, r#", "limits": {"processes": 64}"#) else {
            continue;
        };
        let told = project.python(&[], FORK, &[]);
        let count: usize = told.stdout.trim().parse().unwrap_or(usize::MAX);
        faults.check(count < 320, format!("{level:?}: it forked {count} times: {told:?}"));
    }
}

/// Among a thousand busy processes the first one of the namespace, which ends it, would wait for a second.
#[test]
fn the_first_process_has_short_slices_and_the_command_ordinary_ones() {
    let slice = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("se.slice"))?;
        line.split_ascii_whitespace().last()?.parse::<u64>().ok()
    };
    let Some(ordinary) = std::fs::read_to_string("/proc/self/sched").ok().and_then(|text| slice(&text))
    else {
        picoclaw_testing::skip!("this kernel does not show the slices of a process");
        return;
    };
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let of = |pid| slice(&project.sh(&[], &format!("cat /proc/{pid}/sched")).stdout);
        assert_eq!(of("self"), Some(ordinary), "{level:?}");
        assert!(of("1").is_some_and(|short| short < ordinary), "{level:?}: {:?}", of("1"));
    }
}

#[test]
fn the_programs_of_other_processes_cannot_be_written() {
    let mut faults = Faults::default();
    // ETXTBSY means that it could be written, were it not running.
    let script = "import errno, os, sys
for flags in (os.O_WRONLY, os.O_RDWR):
    try: os.open(f'/proc/{sys.argv[1]}/exe', flags); print('OPENED')
    except OSError as why: print(errno.errorcode[why.errno])";
    if is_root() {
        let control = super::outside(&std::env::temp_dir(), &["python3", "-c", script, "self"]);
        assert_eq!(control.stdout, "ETXTBSY\nETXTBSY\n", "{control:?}");
    }
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        // Its own program is a file of the cage on a read-only mount, but the kernel says ETXTBSY before EROFS.
        let told = project.python(&[], script, &["1"]);
        let held = told.stdout.lines().all(|line| ["EACCES", "EROFS", "EPERM"].contains(&line));
        faults.check(held && told.stdout.lines().count() == 2, format!("{level:?}: {told:?}"));
    }
}

#[test]
fn an_inherited_root_is_no_way_out() {
    let mut faults = Faults::default();
    let script = "import os
for pid in ('1', str(os.getppid())):
    for way in ('root', 'cwd'):
        try: print(pid, way, len(os.listdir(f'/proc/{pid}/{way}/')) and 'LISTED')
        except OSError: pass";
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], script, &[]);
        faults.check(!told.stdout.contains("LISTED"), format!("{level:?}: {told:?}"));
    }
}

#[test]
fn a_launcher_that_is_killed_while_bubblewrap_builds_leaves_nothing() {
    let Some(project) = Project::new(Bwrap) else { return };
    // So many that bubblewrap builds for long.
    let shown = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..200).map(|number| shown.path().join(number.to_string())).collect();
    paths.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let flags: Vec<&str> = paths.iter().flat_map(|path| ["--ro", path.to_str().unwrap()]).collect();
    let mark = marker();
    for moment in 0..40 {
        let mut launcher = project.command(&flags, &["sleep", &mark]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(10 * moment));
        launcher.kill().and_then(|()| launcher.wait()).unwrap();
    }
    let is_gone = gone_after(&mark, Duration::from_secs(10)).is_some();
    let left = alive(&mark);
    end_all(&mark);
    assert!(is_gone, "{left} processes are left");
}
