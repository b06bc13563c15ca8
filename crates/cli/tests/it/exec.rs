//! `exec` from the outside: real processes, their output, their end, and what is left of them.

use crate::test_instance::TestInstance;
use serde_json::json;
use std::time::{Duration, Instant};

fn smart() -> TestInstance {
    TestInstance::with_config(r#"{"tools": {"exec": {"guard": "smart", "timeout_seconds": 2}}}"#)
}

fn exec(instance: &TestInstance, command: &str) -> crate::test_instance::Ran {
    instance.tool("exec", &json!({"command": command}).to_string())
}

#[test]
fn output_and_exit_codes_are_told() {
    let instance = smart();
    for (why, command, exit, want) in [
        ("stdout", "echo hi", 0, "hi\n"),
        ("nothing", "true", 0, "(no output)\n"),
        ("stderr", "echo oops >&2", 0, "STDERR:\noops\n"),
        ("both", "echo a; echo b >&2", 0, "a\n\nSTDERR:\nb\n"),
        ("exit code", "exit 42", 1, "[Command exited with code 42]\n"),
        ("output and exit code", "echo a; exit 1", 1, "a\n\n\n[Command exited with code 1]\n"),
        ("a signal", "kill -TERM $$", 1, "[Command killed by signal 15 (SIGTERM)]\n"),
        (
            "not found",
            "no_such_program_here",
            1,
            "STDERR:\nbash: line 1: no_such_program_here: command not found\n\n\n[Command exited with code 127]\n",
        ),
        ("the workspace is the working directory", "basename \"$PWD\"", 0, "workspace\n"),
        ("standard input is empty", "cat", 0, "(no output)\n"),
    ] {
        let ran = exec(&instance, command);
        assert_eq!(ran.code, exit, "{why}: {ran:?}");
        assert_eq!(ran.stdout, want, "{why}");
    }
}

#[test]
fn a_command_starts_where_it_is_told_inside_the_workspace() {
    let instance = smart();
    std::fs::create_dir_all(instance.workspace().join("sub")).unwrap();
    std::os::unix::fs::symlink("/etc", instance.workspace().join("out")).unwrap();
    for (why, cwd, exit, begins) in [
        ("a directory of the workspace", "sub", 0, "sub"),
        ("outside", "/etc", 1, "Command blocked by safety guard (path outside working dir)"),
        ("climbing out", "..", 1, "Command blocked by safety guard (path outside working dir)"),
        ("a link that leads out", "out", 1, "Command blocked by safety guard (path outside working dir)"),
        (
            "the instance's own state",
            "{home}/state",
            1,
            "Command blocked by safety guard (path outside working dir)",
        ),
        ("nothing there", "missing", 1, "failed to start command: the working directory does not exist"),
    ] {
        let cwd = cwd.replace("{home}", instance.home().to_str().unwrap());
        for name in ["cwd", "working_dir"] {
            let ran = instance.tool("exec", &json!({"command": "basename $PWD", name: cwd}).to_string());
            assert_eq!((ran.code, ran.stdout.lines().next()), (exit, Some(begins)), "{why}: {ran:?}");
        }
    }
}

#[test]
fn the_deadline_holds_whatever_the_command_does() {
    let instance = smart();
    for (why, command) in [
        ("W38: a flood", "yes"),
        ("a flood of zeros", "cat /dev/zero"),
        ("W39: a flood on stderr", "yes >&2"),
        ("W40: a child that left the group and holds the pipe", "setsid sleep 1000 & sleep 1000"),
        ("a double-forked daemon", "(setsid sh -c 'sleep 1000 & exec sleep 1000' &) ; sleep 1000"),
        ("one that ignores SIGTERM", "trap '' TERM; while :; do sleep 1; done"),
        ("one that closes everything", "exec >&- 2>&- <&-; sleep 1000"),
    ] {
        let began = Instant::now();
        let ran = exec(&instance, command);
        let took = began.elapsed();
        assert_eq!(ran.code, 1, "{why}: {ran:?}");
        assert!(
            ran.stdout.starts_with("Command timed out after 2s"),
            "{why}: {}",
            &ran.stdout[..ran.stdout.len().min(200)]
        );
        assert!(took < Duration::from_secs(20), "{why}: took {took:?}, the limit is 2 s");
        assert!(ran.stdout.len() < 200_000, "{why}: {} bytes", ran.stdout.len());
        assert_eq!(sleepers(&instance), 0, "{why}: something is left");
    }
}

#[test]
fn the_timeout_argument_can_only_shorten() {
    let instance = smart();
    let ran = instance.tool("exec", r#"{"command": "sleep 30", "timeout": 1}"#);
    assert!(ran.stdout.starts_with("Command timed out after 1s"), "{ran:?}");
    let began = Instant::now();
    let ran = instance.tool("exec", r#"{"command": "sleep 30", "timeout": 600}"#);
    assert!(ran.stdout.starts_with("Command timed out after 2s"), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn nothing_outlives_a_command_that_ended() {
    let instance = smart();
    let began = Instant::now();
    let ran = exec(&instance, "setsid sleep 1000 & sleep 1000 & echo started");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "started\n"), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "a daemon must not hold the call up");
    assert_eq!(sleepers(&instance), 0);
}

#[test]
fn long_output_keeps_its_head_and_its_tail() {
    let instance = smart();
    let ran = exec(&instance, "seq 1 1000000");
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with("1\n2\n3\n"), "the head is kept");
    assert!(ran.stdout.trim_end().ends_with("999999\n1000000"), "the tail is kept");
    assert!(ran.stdout.contains("omitted"), "the middle is counted");
    assert!(ran.stdout.len() < 100_000, "{}", ran.stdout.len());
}

#[test]
fn a_background_session_starts_and_ends_with_the_program() {
    let instance = smart();
    let ran = instance.tool("exec", r#"{"command": "sleep 1000", "background": true}"#);
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["status"], "running");
    assert!(answer["sessionId"].as_str().is_some_and(|id| id.len() >= 8));
    assert_eq!(sleepers(&instance), 0, "the program is over, and so are its children");
    let stranger =
        instance.tool("exec", &json!({"action": "read", "sessionId": answer["sessionId"]}).to_string());
    assert!(stranger.stdout.starts_with("session not found"), "{stranger:?}");
}

#[test]
fn a_blocked_command_can_be_put_to_a_person_and_nobody_is_there() {
    let instance = TestInstance::with_config(r#"{"tools": {"exec": {"on_block": "ask"}}}"#);
    let ran = exec(&instance, "rm -rf x");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stdout.starts_with("Command blocked by safety guard (dangerous pattern detected)"),
        "{ran:?}"
    );
    let records = instance.records();
    assert_eq!(records[0]["verdict"], "ask");
    let protected = exec(&instance, "cat ../config.json");
    assert_eq!(protected.code, 1, "what no setting allows, nobody is asked about: {protected:?}");
}

#[test]
fn both_switches_off_means_anything_runs_with_a_warning() {
    let instance = TestInstance::with_config(
        r#"{"agents": {"defaults": {"restrict_to_workspace": false}}, "tools": {"exec": {"enable_deny_patterns": false}}}"#,
    );
    let ran = exec(&instance, "cd / && ls etc/passwd && echo $(echo sub)");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "etc/passwd\nsub\n"), "{ran:?}");
    assert!(ran.stderr.matches("[WARN]").count() >= 2, "{ran:?}");
}

/// Processes that sleep in this instance's workspace.
fn sleepers(instance: &TestInstance) -> usize {
    let workspace = instance.workspace();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok())
        .filter(|cwd| cwd.starts_with(&workspace))
        .count()
}
