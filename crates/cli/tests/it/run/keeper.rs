//! The keeper of a plain `picoclaw run`: it works in the launcher's memory, and nobody in the cage gets there.

use super::{Project, is_here, marker};
use crate::house::ran;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

/// Tries every way to another process's memory, and tells what each came to.
const TRY: &str = r#"
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
here = ctypes.create_string_buffer(b'kept', 8)
there = ctypes.create_string_buffer(8)
class Part(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(one) if isinstance(one, int) else one for one in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()
def tell(name, way):
    try:
        answer = way()
        print(name, 'done' if answer >= 0 else errno.errorcode[-answer])
    except OSError as why:
        print(name, errno.errorcode[why.errno])
def opened(pid, name, flags):
    os.close(os.open(f'/proc/{pid}/{name}', flags))
    return 0
def moved(number, pid):
    ours, theirs = Part(ctypes.addressof(there), 4), Part(ctypes.addressof(here), 4)
    return call(number, pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
pid = int(sys.argv[1]) or os.getpid()
tell('mem', lambda: opened(pid, 'mem', os.O_RDONLY))
tell('mem_for_writing', lambda: opened(pid, 'mem', os.O_RDWR))
tell('maps', lambda: opened(pid, 'maps', os.O_RDONLY))
tell('environ', lambda: opened(pid, 'environ', os.O_RDONLY))
tell('process_vm_readv', lambda: moved(310, pid))
tell('process_vm_writev', lambda: moved(311, pid))
tell('ptrace', lambda: call(101, 0x4206, pid, 0, 0))
pidfd = call(434, pid, 0)
tell('pidfd_getfd', lambda: call(438, pidfd, 0, 0))
tell('process_madvise', lambda: call(440, pidfd, ctypes.byref(Part(ctypes.addressof(here), 4)), 1, 21, 0))
tell('kcmp', lambda: call(312, pid, pid, 1, 0, 0))
"#;

#[test]
fn nobody_in_the_cage_gets_at_the_memory_of_its_keeper() {
    let Some(project) = Project::new("the keeper's memory") else { return };
    if !is_here("python3") {
        return;
    }
    let script = project.file("project/try.py", TRY);
    let outside = ran(Command::new("python3").arg(script).arg("0").output().unwrap()).stdout;
    for way in ["mem", "mem_for_writing", "maps", "environ", "process_vm_readv", "process_vm_writev"] {
        assert!(
            outside.contains(&format!("{way} done\n")),
            "the control run, outside and on itself: {outside}"
        );
    }
    let told = |pid: &str| project.run(&["--", "python3", "try.py", pid]).stdout;
    let (own, keepers) = (told("0"), told("1"));
    for way in ["mem", "maps", "environ"] {
        assert!(own.contains(&format!("{way} done\n")), "the control run, in the cage and on itself: {own}");
    }
    assert_eq!(keepers.lines().count(), 10, "{keepers}");
    assert!(!keepers.contains("done"), "{keepers}");
}

#[test]
fn nobody_in_the_cage_reads_the_line_that_started_it() {
    let Some(project) = Project::new("the keeper's words") else { return };
    // Lent memory has the launcher's words, which two others stand in for; a copy has none.
    let want: &[&str] = if rustix::process::geteuid().is_root() { &["picoclaw", "run"] } else { &[] };
    let secret = marker();
    let config = project.file(&format!("{secret}.json"), "{}").display().to_string();
    let given = format!("GIVEN={secret}");
    for (why, before) in [
        ("behind the command", &[][..]),
        ("before it, where the full parser reads", &["--config", config.as_str()]),
    ] {
        let line = ["run", "--env", &given, "--", "sh", "-c", "tr '\\0' ' ' < /proc/1/cmdline"];
        let mut command = project.house.command(&[before, &line].concat());
        let ran = ran(command.current_dir(project.dir()).output().unwrap());
        assert_eq!(ran.stdout.split_whitespace().collect::<Vec<_>>(), want, "{why}: {ran:?}");
    }
}

#[test]
fn nobody_in_the_cage_takes_the_keepers_limits_away() {
    let Some(project) = Project::new("the keeper's limits") else { return };
    if !is_here("python3") {
        return;
    }
    let attempt = "import resource, sys\n\
                   try: print(resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (64, 64)) and 'done')\n\
                   except OSError as why: print(why.errno)";
    for (why, pid, want) in [("its own", "0", "done\n"), ("its keeper's", "1", "1\n")] {
        assert_eq!(project.run(&["--", "python3", "-c", attempt, pid]).stdout, want, "{why}");
    }
}

#[test]
fn a_keeper_works_in_the_memory_of_a_plain_run_alone() {
    let Some(project) = Project::new("lent memory") else { return };
    if !rustix::process::geteuid().is_root() {
        picoclaw_testing::skip!("lent memory: only root may compare two undumpable processes");
        return;
    }
    let mut child = project
        .command(&["--", "sh", "-c", "echo ready; read word; echo $word"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let keeper = std::fs::read_to_string(children).unwrap().trim().to_owned();
    // Lent memory grows and shrinks for both: a mapping of one is a mapping of the other.
    let areas = |pid: &str| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let size = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        (maps, size)
    };
    let (ours, theirs) = (areas(&child.id().to_string()), areas(&keeper));
    assert_eq!(ours, theirs, "every page that one has touched, the other has");
    child.stdin.take().unwrap().write_all(b"on\n").unwrap();
    line.clear();
    out.read_to_string(&mut line).unwrap();
    assert_eq!((child.wait().unwrap().code(), line.as_str()), (Some(0), "on\n"));
}
