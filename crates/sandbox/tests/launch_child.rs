//! What a child gets, and what it does not: environment, descriptors, session, signals, status.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

mod launch_support;

use launch_support::{alive, marker, program, shell};
use picoclaw_sandbox::launch::{
    Background, BackgroundError, ChildSetup, Deadline, LaunchError, State, Status, Stdin, Streams,
    WindowSize, WorkDir, environment, run_to_end,
};
use picoclaw_testing::{PATIENCE, wait_until};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

#[test]
fn a_status_is_what_the_command_said() {
    for (why, line, want, code) in [
        ("success", "exit 0", Status::Exited(0), 0),
        ("its own code", "exit 7", Status::Exited(7), 7),
        ("a signal", "kill -SEGV $$", Status::Signaled(11), 139),
        ("a code that looks like a signal", "exit 143", Status::Exited(143), 143),
        ("not found inside the shell", "no-such-program 2>/dev/null", Status::Exited(127), 127),
    ] {
        let finished = run_to_end(shell(line)).expect(why);
        assert_eq!((finished.status, finished.status.exit_code()), (want, code), "{why}");
    }
}

#[test]
fn a_program_that_cannot_run_is_an_error_of_its_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = directory.path().join("text");
    std::fs::write(&text, "no program").expect("a file");
    let (missing, folder) = ("/no/such/program".to_owned(), "/usr".to_owned());
    for (why, path, code) in [
        ("not there", missing, 127),
        ("a directory", folder, 126),
        ("no execute bit", text.display().to_string(), 126),
    ] {
        let error = run_to_end(program(&path, &["x"])).expect_err(why);
        assert_eq!(error.exit_code(), code, "{why}: {error}");
    }
    let error = run_to_end(program("/bin/true", &["x\0y"])).expect_err("a NUL byte");
    assert!(matches!(error, LaunchError::Nul { .. }), "{error}");
}

#[test]
fn secrets_of_the_environment_stay_here() {
    let host =
        [("PATH", "/usr/bin:/bin"), ("GREETING", "hi"), ("PICOCLAW_KEY_PASSPHRASE", "x"), ("MY_TOKEN", "y")];
    let host = host.map(|(name, value)| (name.into(), value.into()));
    for (why, kept, want) in [
        ("control run: handed on as it is, the child prints it", Vec::from(host.clone()), true),
        ("W45: without secrets, it does not", environment::without_secrets(host, &[]), false),
    ] {
        let mut spec = shell("env; env | base64");
        spec.environment = kept;
        let output = run_to_end(spec).expect(why).stdout.to_text();
        assert!(output.contains("GREETING=hi"), "{why}");
        assert_eq!(output.contains("PASSPHRASE"), want, "{why}");
        assert_eq!(output.contains("MY_TOKEN"), want, "{why}");
    }
}

#[test]
fn a_child_cannot_read_its_parents_environment() {
    let line = "cat /proc/$PPID/environ; cat /proc/$(awk '/^PPid/ {print $2}' /proc/$PPID/status)/environ";
    let finished = run_to_end(shell(line)).expect("a shell starts");
    if rustix::process::geteuid().is_root() {
        picoclaw_testing::skip!("in part: root reads every environment; only a cage hides it");
        return;
    }
    assert_eq!(finished.stdout.to_text(), "", "neither the supervisor's nor picoclaw's environment");
    assert!(finished.stderr.to_text().contains("Permission denied"), "{}", finished.stderr.to_text());
}

#[test]
fn no_descriptor_is_inherited() {
    let mut leaked = tempfile::tempfile().expect("a file");
    leaked.write_all(b"secret").expect("a write");
    // The worst case: a descriptor that was opened without the close-on-exec flag.
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("a flag");
    let line = format!("ls /proc/self/fd; cat /proc/self/fd/{} 2>&1", leaked.as_raw_fd());
    let output = run_to_end(shell(&line)).expect("a shell starts").stdout.to_text();
    let numbers: Vec<&str> = output.lines().take_while(|line| line.parse::<u32>().is_ok()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"], "the fourth is the listing's own");
    assert!(!output.contains("secret"), "{output}");
}

#[test]
fn a_child_leads_its_own_group_in_a_new_session_with_default_signals() {
    // Not with awk: gawk ignores SIGPIPE itself.
    let line = "grep -E '^Sig(Ign|Blk)' /proc/self/status | cut -f2; awk '{print $5, $6, $7}' /proc/$$/stat; echo $$ $$ 0";
    let output = run_to_end(shell(line)).expect("a shell starts").stdout.to_text();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..2], ["0000000000000000"; 2], "nothing blocked, nothing ignored, not even SIGPIPE");
    assert_eq!(lines[2], lines[3], "its own group and session, no terminal");
}

#[test]
fn a_child_works_in_the_directory_that_was_opened() {
    let base = tempfile::tempdir().expect("a temporary directory");
    let (judged, elsewhere) = (base.path().join("judged"), base.path().join("elsewhere"));
    std::fs::create_dir(&judged).expect("a directory");
    std::fs::create_dir(&elsewhere).expect("a directory");
    std::fs::write(judged.join("mine"), "").expect("a file");
    let mut spec = program("/bin/ls", &["ls"]);
    spec.setup = ChildSetup::unconfined(WorkDir::open(&judged).expect("the directory opens"));
    // Swapped after it was judged: the handle still names the old one.
    std::fs::rename(&judged, base.path().join("moved")).expect("a rename");
    std::os::unix::fs::symlink(&elsewhere, &judged).expect("a link");
    assert_eq!(run_to_end(spec).expect("ls starts").stdout.to_text(), "mine\n");
}

#[test]
fn a_session_on_a_terminal_takes_text_keys_and_a_size() {
    let mut spec = shell("stty size; read line; echo \"got $line\"; cat");
    spec.deadline = Deadline::After(Duration::from_secs(20));
    spec.streams = Streams::Pty(WindowSize { rows: 30, columns: 100 });
    let session = Background::start(spec).expect("a shell starts");
    let mut seen = String::new();
    let mut until = |want: &str| {
        wait_until(want, || {
            seen.push_str(&session.take_output().to_text());
            seen.contains(want)
        });
    };
    until("30 100");
    session.write(b"hello\n").expect("the terminal takes text");
    until("got hello");
    assert!(matches!(session.send_keys("c-"), Err(BackgroundError::Key(_))), "W44");
    session.send_keys("c-d").expect("the terminal takes keys");
    assert_eq!(session.wait(PATIENCE), State::Ended(Status::Exited(0)));
    assert!(matches!(session.write(b"x"), Err(BackgroundError::Ended { code: 0 })));
}

#[test]
fn a_child_that_does_not_read_does_not_hold_the_writer() {
    let mut spec = shell("sleep 30");
    spec.streams = Streams::Plain { stdin: Stdin::Pipe, output: picoclaw_sandbox::launch::Output::Merged };
    let session = Background::start(spec).expect("a shell starts");
    let error = session.write(&vec![0; 1 << 20]).expect_err("a pipe takes 64 KiB");
    assert!(matches!(error, BackgroundError::Stalled { sent: 65536, all: 1_048_576 }), "{error}");
}

#[test]
fn a_signal_reaches_the_command_and_not_more() {
    let marker = marker(70);
    let spec = shell(&format!("trap 'echo caught; exit 3' USR1; echo ready; sleep {marker} & wait"));
    let running = picoclaw_sandbox::launch::start(spec).expect("a shell starts");
    // The shell's own line names the sleeper too: with two of them, everything before it has happened.
    wait_until("the child sleeps", || alive(&format!("sleep {marker}")) >= 2);
    running.signal(rustix::process::Signal::USR1);
    let finished = running.finish();
    assert_eq!((finished.status, finished.stdout.to_text().as_str()), (Status::Exited(3), "ready\ncaught\n"));
}

#[test]
fn control_run_the_same_daemon_survives_an_ordinary_parent() {
    let marker = marker(20);
    let status =
        std::process::Command::new("/bin/sh").arg("-c").arg(format!("setsid sleep {marker} &")).status();
    assert!(status.expect("a shell starts").success());
    wait_until("the daemon is there", || alive(&marker) == 1);
    let swept = run_to_end(shell(&format!("pkill -KILL -f 'sleep {marker}'"))).expect("pkill starts");
    assert!(matches!(swept.status, Status::Exited(_) | Status::Signaled(9)), "{:?}", swept.status);
    wait_until("the daemon is gone", || alive(&marker) == 0);
}
