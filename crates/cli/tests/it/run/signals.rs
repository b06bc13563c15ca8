//! Input, output and signals pass through; whatever ends picoclaw ends its child.

use super::{Project, alive, marker};
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

/// Starts a line in the cage and waits for it to say `ready`.
fn started(project: &Project, flags: &[&str], line: &str) -> (Child, BufReader<ChildStdout>) {
    let mut command = project.command(&[flags, &["--", "sh", "-c", line]].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "ready\n", "{line}");
    (child, out)
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn bytes_pass_through_as_they_are() {
    let Some(project) = Project::new("bytes") else { return };
    let mut state = 1_u32;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(8 << 20)
    .collect();
    let mut command = project.command(&["--", "sh", "-c", "tee /dev/stderr"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout, mut stderr) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stdin.write_all(&bytes).unwrap();
            drop(stdin);
        });
        scope.spawn(|| stderr.read_to_end(&mut err).unwrap());
        stdout.read_to_end(&mut out).unwrap();
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(out == bytes, "{} bytes of {} came out", out.len(), bytes.len());
    assert!(err == bytes, "{} bytes of {} came out beside", err.len(), bytes.len());
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    let Some(project) = Project::new("a closed pipe") else { return };
    let (mut child, out) = started(&project, &[], "echo ready; yes");
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(141), "SIGPIPE, as without a cage");
}

#[test]
fn signals_are_passed_on() {
    let Some(project) = Project::new("signals") else { return };
    for (name, signal) in [
        ("TERM", Signal::TERM),
        ("INT", Signal::INT),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
    ] {
        let trap = format!("trap 'echo got {name}; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        let (mut child, mut out) = started(&project, &[], &trap);
        send(&child, signal);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), rest.as_str()),
            (Some(3), format!("got {name}\n").as_str())
        );
        let (mut child, _out) = started(&project, &[], "echo ready; exec sleep 1000");
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()), "{name}, which nobody handles");
    }
}

/// Whether a process is stopped whose command line holds `text`.
fn is_stopped(text: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let told = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
        let (stat, line) = (told("stat"), told("cmdline"));
        let stat = String::from_utf8_lossy(&stat);
        let stops = stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T'));
        stops && String::from_utf8_lossy(&line).contains(text)
    })
}

#[test]
fn a_stopped_command_stops_picoclaw_and_goes_on_with_it() {
    let Some(project) = Project::new("stops") else { return };
    let state = |child: &Child| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
    };
    let limited = &["--timeout", "1m"][..];
    for (why, flags, line, signal) in [
        ("by itself", &[][..], "echo ready; kill -STOP $$; echo went on", None),
        ("from outside", &[], "echo ready; while ! test -e go; do :; done; echo went on", Some(Signal::TSTP)),
        (
            "from outside, within a time",
            limited,
            "echo ready; while ! test -e go; do :; done; echo went on",
            Some(Signal::TSTP),
        ),
        (
            "both, within a time",
            limited,
            "echo ready; kill -STOP $$; echo went on # itself first",
            Some(Signal::TSTP),
        ),
    ] {
        let (mut child, mut out) = started(&project, flags, line);
        if line.ends_with("first") {
            wait_until("it has stopped itself", || is_stopped(line));
        }
        if let Some(signal) = signal {
            send(&child, signal);
        }
        wait_until(why, || state(&child) == 'T');
        std::fs::write(project.dir().join("go"), "").unwrap();
        send(&child, Signal::CONT);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(0), "went on\n"), "{why}");
        std::fs::remove_file(project.dir().join("go")).unwrap();
    }
}

#[test]
fn the_entry_of_a_killed_run_is_removed_by_the_next() {
    let Some(project) = Project::new("stale entries") else { return };
    let entries = || {
        let running = project.instance.home().join("state/running");
        let names = std::fs::read_dir(running)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    let (mut killed, _out) = started(&project, &[], "echo ready; exec sleep 1000");
    let (mut other, _out) = started(&project, &[], "echo ready; exec sleep 1000");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(entries().iter().any(|name| name.starts_with(&format!("run-{}-", killed.id()))), "the control");
    assert_eq!(project.sh("true").code, 0);
    let left = entries();
    assert!(left.len() == 1 && left[0].starts_with(&format!("run-{}-", other.id())), "{left:?}");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn killing_picoclaw_leaves_nobody_behind() {
    let Some(project) = Project::new("SIGKILL") else { return };
    let mark = marker();
    for (why, line) in [
        ("a plain child", "sleep M & echo ready; sleep M"),
        ("a daemon", "setsid sh -c 'sleep M & sleep M' & echo ready; sleep M"),
        (
            "one that ignores every signal",
            "trap '' TERM HUP INT; sleep M & echo ready; while :; do sleep M; done",
        ),
    ] {
        let (mut child, _out) = started(&project, &[], &line.replace('M', &mark));
        wait_until("the control: it runs", || alive(&mark) > 1);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until(why, || alive(&mark) == 0);
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(project.instance.dir().to_str().unwrap()), "{mounts}");
}

#[test]
fn killing_picoclaw_at_any_moment_of_its_start_leaves_nobody_behind() {
    let Some(project) = Project::new("SIGKILL while starting") else { return };
    let mark = marker();
    for delay in (0..40).map(|step| std::time::Duration::from_micros(step * 700)) {
        let mut child = project.command(&["--", "sleep", &mark]).spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    wait_until("nobody is left", || alive(&mark) == 0);
    assert_eq!(project.sh("exit 4").code, 4, "and the instance can be used");
    let ran = project.instance.run(&["audit", "verify"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
