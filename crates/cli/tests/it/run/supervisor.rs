//! The supervisor of a command: it has memory of its own, and a command in the cage reaches neither that nor its limits.

use super::{Project, is_here, marker};
use crate::test_instance::{TestInstance, ran};
use std::process::Command;

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
fn a_caged_command_cannot_reach_its_supervisors_memory() {
    let Some(project) = Project::new("the supervisor's memory") else { return };
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
    let (own, supervisors) = (told("0"), told("1"));
    for way in ["mem", "maps", "environ"] {
        assert!(own.contains(&format!("{way} done\n")), "the control run, in the cage and on itself: {own}");
    }
    assert_eq!(supervisors.lines().count(), 10, "{supervisors}");
    assert!(!supervisors.contains("done"), "{supervisors}");
}

#[test]
fn a_caged_command_cannot_read_the_command_line_that_started_it() {
    let Some(project) = Project::new("the supervisor's arguments") else { return };
    let secret = marker();
    let config = project.file(&format!("{secret}.json"), "{}").display().to_string();
    let given = format!("GIVEN={secret}");
    for (why, before) in [
        ("behind the command", &[][..]),
        ("before it, where the full parser reads", &["--config", config.as_str()]),
    ] {
        let line = ["run", "--env", &given, "--", "sh", "-c", "tr '\\0' ' ' < /proc/1/cmdline"];
        let mut command = project.instance.command(&[before, &line].concat());
        let ran = ran(command.current_dir(project.dir()).output().unwrap());
        assert_eq!((ran.code, ran.stdout.trim()), (0, ""), "{why}: {ran:?}");
    }
}

#[test]
fn a_caged_command_cannot_lower_its_supervisors_limits() {
    let Some(project) = Project::new("the supervisor's limits") else { return };
    if !is_here("python3") {
        return;
    }
    let attempt = "import resource, sys\n\
                   try: print(resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (64, 64)) and 'done')\n\
                   except OSError as why: print(why.errno)";
    for (why, pid, want) in [("its own", "0", "done\n"), ("its supervisor's", "1", "1\n")] {
        assert_eq!(project.run(&["--", "python3", "-c", attempt, pid]).stdout, want, "{why}");
    }
}

/// Starts a program, watches its children until it ends, and prints for each: whether it shares the program's memory
/// (`kcmp`, which only root may ask about an undumpable process), its name and its command line. A child is stopped while
/// it is compared, since one that has exited shares no memory.
const COMPARE: &str = r#"
import ctypes, glob, os, signal, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
KCMP, KCMP_VM = 312, 1
def read(path):
    with open(path, 'rb') as file:
        return file.read()
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    while True:
        state = read(f'/proc/{pid}/stat').rsplit(b')', 1)[1].split()[0]
        if state in b'TtZX':
            return state in b'Tt'
def compared(one, other):
    answer = libc.syscall(KCMP, one, other, KCMP_VM, 0, 0)
    return 'unknown' if answer < 0 else 'shared' if answer == 0 else 'separate'
launcher = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
seen = {}
while launcher.poll() is None:
    for children in glob.glob(f'/proc/{launcher.pid}/task/*/children'):
        try:
            for pid in map(int, read(children).split()):
                if pid not in seen and stopped(pid):
                    seen[pid] = [compared(launcher.pid, pid), b'', b'']
                os.kill(pid, signal.SIGCONT)
                if pid in seen:
                    seen[pid][1:] = read(f'/proc/{pid}/comm').strip(), read(f'/proc/{pid}/cmdline').strip(b'\0')
        except (FileNotFoundError, ProcessLookupError):
            pass
print('control', compared(os.getpid(), os.getpid()))
for memory, name, words in seen.values():
    print('child', memory, name.decode(), words.replace(b'\0', b' ').decode())
"#;

#[test]
fn no_supervisor_shares_the_launchers_memory_or_shows_its_command_line() {
    let Some(project) = Project::new("the supervisor's memory") else { return };
    if !is_here("python3") {
        return;
    }
    let fenced = TestInstance::with_config(r#"{"isolation": {"enabled": false}}"#);
    let caged = TestInstance::with_config(r#"{"isolation": {"enabled": true}}"#);
    let exec = r#"{"action": "run", "command": "sleep 0.3"}"#;
    for (why, launcher) in [
        ("run", project.command(&["--", "sleep", "0.3"])),
        ("a fenced call", fenced.command(&["tool", "exec", exec])),
        ("a caged call", caged.command(&["tool", "exec", exec])),
        ("a fenced turn", fenced.command(&["agent", "-m", "sleep 0.3"])),
        ("a caged turn", caged.command(&["agent", "-m", "sleep 0.3"])),
        ("doctor", caged.command(&["doctor"])),
    ] {
        let mut compare = Command::new("python3");
        compare.args(["-c", COMPARE]).arg(launcher.get_program()).args(launcher.get_args());
        compare.env_clear().envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = ran(compare.current_dir(launcher.get_current_dir().unwrap()).output().unwrap());
        assert!(ran.stdout.starts_with("control shared\n"), "{why}: {ran:?}");
        let children: Vec<_> = ran.stdout.lines().filter_map(|line| line.strip_prefix("child ")).collect();
        assert!(!children.is_empty(), "{why}: {ran:?}");
        for child in &children {
            let (memory, shown) = child.split_once(' ').unwrap();
            match memory {
                "unknown" => picoclaw_testing::skip!("{why}: only root may compare undumpable processes"),
                memory => assert_eq!(memory, "separate", "{why}: {ran:?}"),
            }
            // One that was last seen during its setup has the launcher's name, one that ended at once has none.
            let (name, words) = shown.split_once(' ').unwrap();
            assert!(["picoclaw-superv", "picoclaw", ""].contains(&name), "{why}: {ran:?}");
            assert!(words.is_empty() || name != "picoclaw-superv", "{why}: {ran:?}");
        }
        assert!(ran.stdout.contains(" picoclaw-superv "), "{why}: {ran:?}");
    }
}
