//! How a wrapped server lives and ends: nothing of it outlives its host.

use super::{Den, Server, alive, marker};
use picoclaw_testing::{PATIENCE, wait_until};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn exit_codes_are_those_of_run() {
    let Some(den) = Den::new("exit codes") else { return };
    let plain = den.file("plain", "no program");
    let plain = plain.to_str().unwrap();
    for (why, words, want, says) in [
        ("no command", &[][..], 2, "CMD"),
        ("no such program", &["--", "no-such-program"], 127, "command not found"),
        ("no program", &["--", plain], 126, "cannot be executed"),
        ("its own", &["--", "sh", "-c", "exit 7"], 7, ""),
        ("a signal's", &["--", "sh", "-c", "kill -9 $$"], 137, ""),
        ("a name that is none", &["--name", "a/b", "--", "true"], 2, "--name"),
        ("an empty name", &["--name", "", "--", "true"], 2, "--name"),
        ("a network that is none", &["--net", "some", "--", "true"], 2, "--net"),
        ("an exposure that is none", &["--expose", "/a", "--", "true"], 2, "SRC:DST:MODE"),
        ("a workspace that is too much", &["--workspace", "/", "--", "true"], 125, "/"),
        ("a path that is not there", &["--ro", "/no/such/path", "--", "true"], 125, "/no/such/path"),
        ("the instance itself", &["--rw", den.instance.home().to_str().unwrap(), "--", "true"], 125, "home"),
    ] {
        let mut command = den.command(words);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(want), "{why}: {stderr}");
        assert!(stderr.contains(says), "{why}: {stderr}");
        assert!(output.stdout.is_empty(), "{why}: standard output is the server's");
    }
}

#[test]
fn when_the_server_dies_the_host_sees_the_end_and_the_status() {
    let Some(den) = Den::new("a server that dies") else { return };
    for (why, lies, want) in [("at its start", &["start=die"][..], 7), ("at its end", &["exit=9"], 9)] {
        assert_eq!(den.wrap(&[], lies).end().0, want, "{why}");
    }
    let mut server = den.wrap_command(&["--", "sh", "-c", "read line; echo last words >&2; kill -TERM $$"]);
    server.send(&json!({"jsonrpc": "2.0", "method": "x"}));
    let (code, stderr) = server.wait();
    assert_eq!(code, 128 + 15);
    assert!(stderr.contains("] last words"), "what it said last is passed on: {stderr}");
}

#[test]
fn when_the_host_is_gone_nothing_of_the_server_is_left() {
    let Some(den) = Den::new("a host that is gone") else { return };
    for (why, lies, killed) in [
        ("a host that was killed", &["end=never"][..], Killed::Host),
        ("a wrap that was killed", &["end=never"], Killed::Wrap),
        ("a host that was killed in the middle of a flood", &["end=never", "start=flood"], Killed::Host),
    ] {
        let marker = marker();
        let mut server = match killed {
            Killed::Wrap => den.wrap(&[], lies),
            Killed::Host => {
                let wrap = den.command(&["--", "/usr/bin/python3", &den.script("server.py")]);
                let mut host = Command::new("/usr/bin/python3");
                host.arg(den.script("host.py")).arg(wrap.get_program()).args(wrap.get_args()).args(lies);
                host.env_clear().envs(wrap.get_envs().filter_map(|(name, value)| Some((name, value?))));
                Server::start(host)
            }
        };
        let daemon = server.look(&format!("daemon {marker}"));
        assert!(daemon.starts_with("started"), "{daemon}");
        wait_until("the daemon runs", || alive(&marker) > 0);
        let began = Instant::now();
        server.child.kill().unwrap();
        wait_until(&format!("{why}: everything is gone"), || alive(&marker) == 0);
        assert!(began.elapsed() < Duration::from_secs(30), "{why}: {:?}", began.elapsed());
    }
}

/// Who is killed.
enum Killed {
    Host,
    Wrap,
}

#[test]
fn a_server_that_does_not_go_is_ended() {
    let Some(den) = Den::new("a server that stays") else { return };
    for (why, lies) in [("deaf to SIGTERM", &["end=never"][..]), ("never listening", &["start=hang"])] {
        let marker = marker();
        let began = Instant::now();
        let server = den.wrap(&[], &[lies, &[&format!("marker={marker}")]].concat());
        wait_until("it runs", || alive(&marker) >= 2);
        let (code, _) = server.end();
        assert!(began.elapsed() < PATIENCE, "{why}: {:?}", began.elapsed());
        assert!(code == 137 || code == 143, "{why}: {code}");
        assert_eq!(alive(&marker), 0, "{why}");
    }
}

#[test]
fn signals_are_passed_on() {
    let Some(den) = Den::new("signals") else { return };
    let server = den.wrap_command(&[
        "--",
        "sh",
        "-c",
        "trap 'exit 33' TERM; echo ready >&2; while :; do sleep 0.05; done",
    ]);
    server.stderr_says("ready");
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(server.wait().0, 33);
}

#[test]
fn a_flood_nobody_reads_costs_no_memory() {
    let Some(den) = Den::new("a flood") else { return };
    let mut command = den.command(&["--", "/usr/bin/python3", &den.script("server.py"), "start=flood"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let resident = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmRSS")).map(str::to_owned).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
    };
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        assert!(resident() < 64 << 10, "{} kB", resident());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(resident() > 0, "it was looked at");
    child.kill().unwrap();
    child.wait().unwrap();
}
