//! `--debug` and `--tmp`: what they allow, and what they do not.

use super::{Project, is_here};

/// Tries to trace a process by its number.
const TRACE: &str = r"
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
traced = libc.ptrace(16, int(sys.argv[1]), 0, 0) == 0
print('traced' if traced else ctypes.get_errno())
";

/// Opens a performance counter: pid, cpu, flags.
const COUNT: &str = r"
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
attr = ctypes.create_string_buffer(struct.pack('IIQQQQ', 1, 128, 1, 0, 0, 0).ljust(40) + struct.pack('Q', 0b1100000), 128)
pid, cpu, flags = map(int, sys.argv[1:])
fd = libc.syscall(298, attr, pid, cpu, -1, flags)
print('counts' if fd >= 0 else ctypes.get_errno())
";

fn with_scripts(why: &str) -> Option<Project> {
    if !is_here("python3") {
        return None;
    }
    let project = Project::new(why)?;
    project.file("project/trace.py", TRACE);
    project.file("project/count.py", COUNT);
    Some(project)
}

#[test]
fn processes_of_the_cage_trace_each_other_with_the_flag() {
    let Some(project) = with_scripts("tracing") else { return };
    let line = "sleep 60 & /usr/bin/python3 trace.py $!; kill $!";
    let with = project.run(&["--debug", "--", "sh", "-c", line]);
    if with.stdout == "1\n"
        && std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").is_ok_and(|scope| scope != "0\n")
    {
        picoclaw_testing::skip!("Yama lets no process trace another that is not its child");
        return;
    }
    assert_eq!(with.stdout, "traced\n", "{with:?}");
    let without = project.run(&["--", "sh", "-c", line]);
    assert_eq!(without.stdout, "1\n", "the control: EPERM: {without:?}");
}

#[test]
fn the_supervisor_and_processes_outside_are_not_traced() {
    let Some(project) = with_scripts("tracing outside") else { return };
    let ran = project.run(&["--debug", "--", "/usr/bin/python3", "trace.py", "1"]);
    assert_eq!(ran.stdout, "1\n", "the first process is the supervisor: {ran:?}");
    let mut outside = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = outside.id().to_string();
    let ran = project.run(&["--debug", "--", "/usr/bin/python3", "trace.py", &pid]);
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert!(["1\n", "3\n"].contains(&ran.stdout.as_str()), "EPERM or ESRCH: {ran:?}");
    let memory = "for p in /proc/1/mem /proc/1/environ; do head -c1 $p && echo read $p; done; ls -l /proc/1/fd | grep -c socket";
    let ran = project.run(&["--debug", "--", "sh", "-c", memory]);
    assert!(!ran.stdout.contains("read"), "{ran:?}");
}

#[test]
fn performance_counters_are_for_processes_of_the_cage() {
    let Some(project) = with_scripts("counters") else { return };
    let count = |flag: &[&str], arguments: &[&str]| {
        project.run(&[flag, &["--", "/usr/bin/python3", "count.py"], arguments].concat()).stdout
    };
    assert_eq!(count(&[], &["0", "-1", "0"]), "1\n", "without the flag");
    assert_eq!(count(&["--debug"], &["-1", "0", "0"]), "1\n", "the whole machine");
    assert_eq!(count(&["--debug"], &["0", "0", "4"]), "1\n", "a cgroup");
    assert_ne!(count(&["--debug"], &["1", "-1", "0"]), "counts\n", "the supervisor");
    let own = count(&["--debug"], &["0", "-1", "0"]);
    if own != "counts\n" {
        picoclaw_testing::skip!("this host has no counters for an ordinary process: errno {own}");
    }
}

#[test]
fn a_leak_is_found_with_the_flag() {
    if !is_here("gcc") {
        return;
    }
    let Some(project) = Project::new("leaks") else { return };
    let source = "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(7); p = 0; return 0; }\n";
    project.file("project/t.c", source);
    let ran = project.run(&["--", "gcc", "-fsanitize=address", "t.c", "-o", "t"]);
    if ran.code != 0 {
        picoclaw_testing::skip!("gcc has no AddressSanitizer: {}", ran.stderr);
        return;
    }
    let without = project.run(&["--", "./t"]);
    assert_eq!((without.code, without.stderr.as_str()), (0, ""), "{without:?}");
    let with = project.run(&["--debug", "--", "./t"]);
    assert!(with.code != 0 && with.stderr.contains("detected memory leaks"), "{with:?}");
}

#[test]
fn a_debugger_without_the_flag_is_followed_by_its_name() {
    let Some(project) = Project::new("the hint for debuggers") else { return };
    let hint = |command: &[&str]| project.run(command).stderr.contains("`--debug` lets it");
    assert!(hint(&["--", "sh", "-c", "exit 1; /usr/bin/gdb -p 1"]));
    assert!(!hint(&["--debug", "--", "sh", "-c", "exit 1; /usr/bin/gdb -p 1"]));
    assert!(hint(&["--", "gdb", "--no-such-flag"]) || !is_here("gdb"));
    for (why, line) in [
        ("another word", "echo strace-log; false"),
        ("an argument", "grep gdb /dev/null"),
        ("it succeeds", "true || gdb"),
    ] {
        assert!(!hint(&["--", "sh", "-c", line]), "the control: {why}");
    }
    let own = |name: &str, text: &str| {
        let path = project.file(name, text);
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    own("project/gdb", "#!/bin/sh\n");
    own("project/strace", "#!/bin/sh\nexit 1\n");
    assert!(hint(&["--", "./gdb", "./a.out"]), "a debugger whose prompt was left");
    assert!(!hint(&["--debug", "--", "./gdb", "./a.out"]));
    assert!(!hint(&["--", "./gdb", "--version"]), "the control: nothing to trace");
    for wrapped in [
        &["env", "X=1", "./gdb"][..],
        &["timeout", "-k", "5", "5s", "./strace", "true"],
        &["nice", "-n", "5", "env", "X=1", "./strace", "true"],
        &["sh", "-c", "X=1 timeout 5 ./strace true"],
        &["env", "X=1", "sh", "-c", "exec ./strace true"],
    ] {
        assert!(hint(&[&["--"], wrapped].concat()), "{wrapped:?}");
    }
    assert!(!hint(&["--", "env", "X=1", "grep", "gdb", "/dev/null"]), "the control: an argument");
    assert!(!hint(&["--", "grep", "gdb", "/dev/null"]), "the control: an argument");
    assert!(!hint(&["--", "sh", "missing.sh", "gdb"]), "the control: an argument of a script");
}

#[test]
fn the_size_of_tmp_is_given() {
    let Some(project) = Project::new("the size of /tmp") else { return };
    let size = |flags: &[&str]| {
        let line = "for dir in /tmp /dev/shm; do echo $(($(stat -f -c '%b * %S' $dir) / 1048576)); done";
        project.run(&[flags, &["--", "sh", "-c", line]].concat()).stdout
    };
    assert_eq!(size(&["--tmp", "64M"]), "64\n64\n");
    assert_eq!(size(&["--tmp", "2G"]), "2048\n2048\n");
    assert_eq!(size(&[]), "1024\n1024\n", "the default");
    let full = project.run(&["--tmp", "1M", "--", "sh", "-c", "head -c 2000000 /dev/zero > /tmp/a"]);
    assert!(full.code != 0 && full.stderr.contains("No space left"), "{full:?}");
    for flags in [&["--tmp", "4G"][..], &["--tmp", "512M", "--memory", "512M"], &["--tmp", "lots"]] {
        assert_eq!(project.run(&[flags, &["--", "true"]].concat()).code, 2, "{flags:?}");
    }
}
