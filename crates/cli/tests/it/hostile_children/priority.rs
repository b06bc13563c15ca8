//! C4: a caged process slows neither its supervisor nor, where there are no namespaces, any process of the host.

use super::{Bwrap, Faults, Landlock, Native, Project, outside};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

const TRY: &str = include_str!("priority.py");

/// A user ID without processes: no process is slowed down, and a filter still answers.
const NOBODY: &str = "64999";

/// Calls on a process that is not the caller's own, by process, group and user.
const OTHERS: usize = 10;

struct Victim(Child);

impl Victim {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").process_group(0).spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

/// Checks that each call was refused; a group that the namespace does not have counts, an absent user does not.
fn refused(faults: &mut Faults, why: &str, told: &str, by_filter: bool) {
    assert_eq!(told.lines().count(), OTHERS, "{why}: {told}");
    for line in told.lines() {
        let held = !(line.ends_with("done") || by_filter && line.ends_with("ESRCH"));
        faults.check(held, format!("{why}: {line}"));
    }
}

#[test]
fn without_a_cage_a_process_is_slowed_down() {
    let victim = Victim::new();
    let told = outside(&std::env::temp_dir(), &["python3", "-c", TRY, &victim.0.id().to_string(), NOBODY]);
    let by_user =
        told.stdout.lines().filter(|line| line.contains("_user")).all(|line| line.ends_with("ESRCH"));
    assert_eq!((told.stdout.matches("done").count(), by_user), (OTHERS - 2, true), "{told:?}");
}

#[test]
fn the_supervisor_is_not_slowed_down() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        // In a namespace of its own, "every process of this user" is the supervisor and the tree.
        let told = project.python(&[], TRY, &["1", "0"]);
        refused(&mut faults, &format!("{level:?}"), &told.stdout, false);
    }
}

#[test]
fn no_process_of_the_host_is_slowed_down() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Landlock) else { return };
    let victim = Victim::new();
    for (why, pid) in [("a bystander", victim.0.id().to_string()), ("the supervisor", "-1".to_owned())] {
        let told = project.python(&[], TRY, &[&pid, NOBODY]);
        refused(&mut faults, why, &told.stdout, true);
    }
}

#[test]
fn a_process_slows_itself_down() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], TRY, &["0", NOBODY]).stdout;
        for call in [
            "sched_setaffinity",
            "setpriority",
            "ioprio_set",
            "sched_setattr",
            "sched_setscheduler",
            "sched_setparam",
            "own_thread_affinity",
            "own_thread_priority",
            "own_thread_policy",
            "other_thread_affinity",
        ] {
            assert!(told.lines().any(|line| line == format!("{call} done")), "{level:?}: {call}: {told}");
        }
        for line in ["nice -n 5 true", "taskset -c 0 true", "ionice -c 3 true", "chrt -i 0 true"] {
            let told = project.sh(&[], line);
            assert!(told.code == 0 || told.code == 127, "{level:?}: `{line}`: {told:?}");
        }
    }
}

/// Browsers and agents confine their own children: a filter and Landlock rules of theirs come in addition.
#[test]
fn a_program_confines_itself_further() {
    let script = "import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ruleset = libc.syscall(444, struct.pack('Q', 2), ctypes.c_long(8), 0)
assert ruleset >= 0 and libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(446, ruleset, 0) == 0, ctypes.get_errno()
try: open('denied', 'w'); print('WRITTEN')
except PermissionError: print('held')
number = {'x86_64': 39, 'aarch64': 172}[os.uname().machine]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *one) for one in ((0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 + 77), (6, 0, 0, 0x7fff0000))))
assert libc.prctl(22, 2, struct.pack('H6xQ', 4, ctypes.addressof(code))) == 0
print(libc.syscall(number) == -1 and ctypes.get_errno())";
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], script, &[]);
        assert_eq!(told.stdout, "held\n77\n", "{level:?}: {told:?}");
    }
}
