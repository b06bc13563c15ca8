//! C2: `--memory` holds every kind of memory that the whole tree has, and no address space that is only reserved.
//!
//! No program takes more than 400 MB.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, alone, is_here, outside};

pub(super) const TAKE: &str = include_str!("memory.py");
const SENTENCE: &str = "picoclaw run: memory limit reached (100 MiB); raise it with --memory\n";

/// Takes four times the limit, of each of these kinds.
fn take(faults: &mut Faults, level: Level, kinds: &[&str], may_be_refused: bool) {
    let _turn = alone();
    let Some(project) = Project::new(level) else { return };
    for kind in kinds {
        let control = outside(&project.dir(), &["python3", "-c", TAKE, kind, "400", "0"]);
        assert_eq!(control.stdout, "HELD\n", "the control of {kind}: {control:?}");
        let told = project.python(&["--memory", "100M"], TAKE, &[kind, "400"]);
        let at_limit = told.code == 137 && told.stderr.ends_with(SENTENCE);
        let refused = may_be_refused && told.code == 1 && told.stderr.contains("REFUSED");
        faults.check(at_limit || refused, format!("{level:?}: {kind}: {told:?}"));
        let enough = project.python(&["--memory", "1G"], TAKE, &[kind, "200", "0.2"]);
        faults.check(enough.stdout == "HELD\n", format!("{level:?}: {kind}, with enough: {enough:?}"));
    }
}

const PROCESSES: &[&str] = &[
    "private",
    "private_under_another_name",
    "private_without_first_thread",
    "shared",
    "tree",
    "memfd_mapped",
];

#[test]
fn what_processes_have_mapped_is_held() {
    take(&mut Faults::default(), Native, PROCESSES, false);
}

#[test]
fn what_processes_have_mapped_is_held_in_bubblewrap() {
    take(&mut Faults::default(), Bwrap, PROCESSES, false);
}

#[test]
fn what_processes_have_mapped_is_held_without_namespaces() {
    take(&mut Faults::default(), Landlock, PROCESSES, false);
}

#[test]
fn memfds_are_held() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        take(&mut faults, level, &["memfd", "memfd_without_first_thread"], false);
    }
}

#[test]
fn system_v_memory_is_held() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        take(&mut faults, level, &["system_v"], false);
    }
    // Without a cgroup only a process in the IPC namespace can count what no process has attached.
    take(&mut faults, Native, &["system_v_detached"], false);
}

#[test]
fn files_in_memory_are_held() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        take(&mut faults, level, &["tmp", "dev_shm"], true);
        // Not to be had at all is as good.
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&["--memory", "100M"], TAKE, &["any_tmpfs", "400"]);
        let held = told.code == 137 || told.stderr.contains("REFUSED");
        faults.check(held, format!("{level:?}: any tmpfs: {told:?}"));
    }
}

#[test]
fn kinds_are_added_up() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        take(&mut faults, level, &["mixed"], false);
    }
}

#[test]
fn what_no_process_refers_to_is_held_or_named() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Native) else { return };
    let doctor = project.instance.run(&["doctor"]).stdout.to_lowercase();
    for (kind, named) in
        [("shared_by_dead_child", "shared"), ("memfd_in_flight", "in flight"), ("sockets", "socket buffers")]
    {
        let told = project.python(&["--memory", "100M"], TAKE, &[kind, "400"]);
        let held = told.code == 137 && told.stderr.ends_with(SENTENCE);
        faults.check(held || doctor.contains(named), format!("{kind} is neither held nor named: {told:?}"));
    }
}

#[test]
fn doctor_tries_each_kind() {
    let Some(project) = Project::new(Native) else { return };
    let doctor = project.instance.run(&["doctor"]).stdout.to_lowercase();
    for kind in ["private", "shared", "memfd", "system v", "tmpfs", "socket"] {
        assert!(doctor.contains(kind), "`{kind}` in {doctor}");
    }
}

/// Innocent programs below the limit: what they have is small, whatever they reserve or share.
const INNOCENT: &[(&str, &str, &[&str])] = &[
    ("reserved without access", "python3", &["-c", RESERVE]),
    ("reserved and not touched", "python3", &["-c", "import mmap; mmap.mmap(-1, 8 << 30, 0x4022)[0] = 1"]),
    ("fifty processes that share 30 MB", "python3", &["-c", FORK]),
    ("a file that is mapped", "python3", &["-c", MAP]),
    (
        "many short processes",
        "sh",
        &["-c", "for n in $(seq 200); do head -c 999999 /dev/zero | tail -c 1; done"],
    ),
    ("node", "node", &["-e", "0"]),
    ("java", "java", &["-version"]),
];
const RESERVE: &str = "import ctypes
reserve = ctypes.CDLL(None).mmap
reserve.restype = ctypes.c_void_p
assert reserve(None, ctypes.c_size_t(8 << 30), 0, 0x22, -1, 0) != 2**64 - 1";
/// Each process has 0.8 MB of its own besides.
const FORK: &str = "import os, signal, time
held = bytearray(30 << 20)
for at in range(0, len(held), 4096): held[at] = 1
children = [os.fork() or signal.pause() for _ in range(50)]
time.sleep(2)
for child in children: os.kill(child, 9)";
const MAP: &str = "import mmap, os
fd = os.open('sparse', os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 300 << 20)
held = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
assert sum(held[at] for at in range(0, len(held), 4096)) == 0";

#[test]
fn reserved_and_shared_memory_is_not_counted_twice() {
    let _turn = alone();
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        for (why, program, arguments) in INNOCENT.iter().filter(|(_, program, _)| is_here(program)) {
            let told = project.run(&["--memory", "100M"], &[&[*program], *arguments].concat());
            faults.check(told.code == 0, format!("{level:?}: {why}: {told:?}"));
        }
    }
}

#[test]
fn a_program_with_an_address_sanitizer_runs() {
    if !is_here("gcc") {
        return;
    }
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        project.file("project/main.c", "int main(void) { return 7; }");
        let built = outside(&project.dir(), &["gcc", "-fsanitize=address", "-o", "main", "main.c"]);
        if built.code != 0 {
            picoclaw_testing::skip!("no address sanitizer here: {}", built.stderr);
            return;
        }
        for memory in ["100M", "4G"] {
            // Leaks are looked for by ptrace, which no child may call.
            let flags = ["--memory", memory, "--env", "ASAN_OPTIONS=detect_leaks=0"];
            let told = project.run(&flags, &["./main"]);
            assert_eq!(told.code, 7, "{level:?}, {memory}: {told:?}");
        }
    }
}
