//! Children that lead a process group: what they get, what ends them, and what is not ended.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_types,
    reason = "a test that cannot set its scene up has failed; controls start their children plainly"
)]

use picoclaw_sys::process_group::{ChildSpec, Spawned, spawn};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeReader, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for every child that ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a shell with this line in `/`, and returns its output.
fn start(line: &str) -> (Spawned, BufReader<PipeReader>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let null = File::open("/dev/null").unwrap();
    let root = openat(CWD, "/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let spawned = spawn(&ChildSpec {
        program: "/bin/bash".into(),
        argv: ["own-name", "-c", line].map(Into::into).to_vec(),
        work_dir: root.as_fd(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("OWN".into(), "value".into())],
        streams: [null.as_fd(), writer.as_fd(), writer.as_fd()],
    });
    (spawned.unwrap(), BufReader::new(reader))
}

fn exit_code(child: &Spawned) -> Option<i32> {
    child.wait(Some(PATIENCE)).unwrap().unwrap().code()
}

/// The process id on the next line.
fn pid_of(output: &mut BufReader<PipeReader>) -> Pid {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// Whether a process ends soon. One that init has not reaped yet may stay for a moment.
fn ends(pid: Pid) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if test_kill_process(pid).is_err() || is_zombie(pid) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Where orphans are not reaped at all, as in some containers of Linux, they stay as zombies.
fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn a_child_has_its_name_directory_and_environment_and_nothing_else() {
    let (child, mut output) = start("echo $0 $PWD $OWN ${HOME-none}; exit 3");
    assert_eq!(exit_code(&child), Some(3));
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, "own-name / value none\n");
    assert_eq!(exit_code(&child), Some(3), "the status stays");
    child.signal(Signal::KILL);
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let null = File::open("/dev/null").unwrap();
    let refused = spawn(&ChildSpec {
        program: "/no/such/program".into(),
        argv: vec!["program".into()],
        work_dir: File::open("/").unwrap().as_fd(),
        environment: Vec::new(),
        streams: [null.as_fd(); 3],
    });
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_child_gets_no_other_descriptor() {
    let leaked = openat(CWD, "/", OFlags::RDONLY, Mode::empty()).unwrap();
    let line = format!("[ -e /dev/fd/{} ]", leaked.as_raw_fd());
    let control = Command::new("/bin/bash").args(["-c", &line]).stdin(Stdio::null()).status().unwrap();
    assert_eq!(control.code(), Some(0), "a plain child has it");
    assert_eq!(exit_code(&start(&line).0), Some(1));
}

#[test]
fn a_signal_reaches_the_whole_group() {
    let (child, mut output) = start("sleep 600 & echo $!; trap 'exit 7' TERM; wait");
    let below = pid_of(&mut output);
    assert!(child.wait(Some(Duration::ZERO)).unwrap().is_none(), "it runs");
    // The trap may not be set yet.
    while child.wait(Some(Duration::from_millis(50))).unwrap().is_none() {
        child.signal(Signal::TERM);
    }
    let status = child.wait(None).unwrap().unwrap();
    assert!(status.code() == Some(7) || status.signal() == Some(Signal::TERM.as_raw()), "{status}");
    assert!(ends(below));
}

#[test]
fn what_a_child_leaves_in_its_group_is_ended_and_what_left_the_group_is_not() {
    let (child, mut output) = start("trap '' TERM; (sleep 600) > /dev/null 2>&1 & echo $!");
    let stubborn = pid_of(&mut output);
    assert_eq!(exit_code(&child), Some(0));
    assert!(ends(stubborn), "also where it ignores SIGTERM");

    // With job control a background job leads a group of its own.
    let (child, mut output) = start("set -m; sleep 600 > /dev/null 2>&1 & echo $!");
    let outside = pid_of(&mut output);
    assert_eq!(exit_code(&child), Some(0));
    assert!(test_kill_process(outside).is_ok(), "it is out of reach");
    kill_process(outside, Signal::KILL).unwrap();
}
