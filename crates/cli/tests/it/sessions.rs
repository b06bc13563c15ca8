//! `picoclaw session`, and sessions that survive what happens to programs.

use crate::test_instance::{Ran, TestInstance};
use picoclaw_testing::wait_until;
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// An instance with two agents and a model that says what `replies` says.
fn instance(replies: &[Value]) -> TestInstance {
    let instance = TestInstance::with_config(
        r#"{
          "version": 3,
          "agents": {
            "defaults": {"model_name": "s"},
            "agents": [{"id": "main", "default": true}, {"id": "coder"}]
          },
          "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
        }"#,
    );
    say(&instance, replies);
    instance
}

fn say(instance: &TestInstance, replies: &[Value]) {
    let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
    std::fs::write(instance.dir().join("replies.jsonl"), lines.join("\n")).unwrap();
}

fn agent(instance: &TestInstance, session: &str, message: &str) -> Ran {
    instance.run(&["agent", "-s", session, "-m", message])
}

fn list(instance: &TestInstance, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["session", "list", "--json"];
    arguments.extend(more);
    let ran = instance.run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A turn that is in the middle of a command.
fn busy(instance: &TestInstance) -> Child {
    say(
        instance,
        &[json!({"tool_calls": [{"name": "exec", "arguments": {"command": "touch started; sleep 50"}}]})],
    );
    let mut command = instance.command(&["agent", "-s", "s", "-m", "work"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the command", || instance.workspace().join("started").exists());
    child
}

#[test]
fn sessions_are_listed_shown_and_cleared() {
    let instance = instance(&[json!({"content": "hello"})]);
    assert_eq!(list(&instance, &[]), Vec::<Value>::new(), "none yet");
    for name in ["a:1", "a/1", "a_1", "A:1"] {
        assert_eq!(agent(&instance, name, "hi").stdout, "hello\n");
    }
    assert_eq!(instance.run(&["agent", "--agent", "coder", "-m", "hi"]).code, 0);
    let listed = list(&instance, &[]);
    let names: Vec<_> =
        listed.iter().map(|one| (one["agent"].as_str().unwrap(), one["name"].as_str().unwrap())).collect();
    assert_eq!(
        names,
        [("main", "A:1"), ("main", "a/1"), ("main", "a:1"), ("main", "a_1"), ("coder", "cli:default")]
    );
    for one in &listed {
        let fields: Vec<_> = one.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["name", "agent", "messages", "updated_at"]);
        assert_eq!(one["messages"], 2);
        assert!(one["updated_at"].as_str().unwrap().starts_with("20"), "{one}");
    }
    assert_eq!(list(&instance, &["--agent", "coder"]).len(), 1);
    let shown = instance.run(&["session", "show", "a:1"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, "user: hi\nassistant: hello\n"));
    let shown = instance.run(&["session", "show", "a:1", "--json"]);
    let first: Value = serde_json::from_str(shown.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&first["role"], &first["content"]), (&json!("user"), &json!("hi")));
    assert_eq!(instance.run(&["session", "clear", "a:1"]).code, 0);
    assert_eq!(list(&instance, &["--agent", "main"]).len(), 3, "and no other");
    let text = instance.run(&["session", "list"]).stdout;
    assert!(text.contains("coder  cli:default  2 messages  20"), "{text}");
}

#[test]
fn what_is_not_there_is_said() {
    let instance = instance(&[]);
    for (why, arguments, exit, words) in [
        ("no such session", &["session", "show", "nobody"][..], 1, "there is no session `nobody`"),
        ("nothing to clear", &["session", "clear", "nobody"], 1, "there is no session `nobody`"),
        ("no such agent", &["session", "list", "--agent", "nobody"], 2, "there is no agent `nobody`"),
        ("no name at all", &["session", "show", ""], 2, "a session needs a name"),
    ] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, exit, "{why}: {ran:?}");
        assert!(ran.stderr.contains(words), "{why}: {ran:?}");
    }
}

#[test]
fn what_a_session_shows_moves_no_cursor() {
    let instance = instance(&[json!({"content": "\u{1b}[2Jgone"})]);
    agent(&instance, "s", "hi");
    for arguments in [&["session", "show", "s"][..], &["session", "show", "s", "--json"]] {
        let shown = instance.run(arguments).stdout;
        assert!(!shown.contains('\u{1b}') && shown.contains("gone"), "{shown:?}");
    }
}

#[test]
fn a_program_killed_in_the_middle_of_a_turn_leaves_a_session_that_goes_on() {
    let instance = instance(&[json!({"content": "first"})]);
    assert_eq!(agent(&instance, "s", "one").code, 0);
    let mut child = busy(&instance);
    child.kill().unwrap();
    child.wait().unwrap();
    let path = instance.home().join("state/sessions/main/s.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    assert_eq!(lines.lines().count(), 4, "what had been said is there: {lines}");
    // And as if it had been killed in the middle of a write.
    std::fs::write(&path, format!("{lines}{{\"role\":\"tool\",\"con")).unwrap();
    say(&instance, &[json!({"content": "again"})]);
    let ran = agent(&instance, "s", "two");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "again\n"), "{ran:?}");
    let shown = instance.run(&["session", "show", "s"]).stdout;
    for said in ["user: one", "assistant: first", "user: work", "user: two", "assistant: again"] {
        assert!(shown.lines().any(|line| line == said), "no `{said}` in {shown}");
    }
}

#[test]
fn two_programs_do_not_write_one_session_at_once() {
    let instance = instance(&[]);
    let mut child = busy(&instance);
    say(&instance, &[json!({"content": "me too"})]);
    let began = Instant::now();
    let ran = agent(&instance, "s", "hi");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("session `s` is in use by another turn"), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "it waits, but not for ever");
    assert_eq!(instance.run(&["session", "clear", "s"]).code, 1, "nor is it cleared meanwhile");
    let ran = agent(&instance, "t", "hi");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "me too\n"), "another session is free: {ran:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn turns_of_many_programs_lose_no_message() {
    let instance = instance(&[json!({"content": "ok"})]);
    let children: Vec<Child> = (0..4)
        .map(|n| {
            let message = format!("message {n}");
            let mut command = instance.command(&["agent", "-s", "s", "-m", &message]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let ended: Vec<bool> = children.into_iter().map(|mut child| child.wait().unwrap().success()).collect();
    let shown = instance.run(&["session", "show", "s"]).stdout;
    for (n, ended) in ended.into_iter().enumerate() {
        // One that had to wait too long said so; one that answered is in the session.
        assert_eq!(shown.contains(&format!("user: message {n}")), ended, "{n} in {shown}");
    }
}

#[test]
fn a_full_disk_in_the_middle_of_a_session_is_said_and_loses_nothing() {
    let instance = instance(&[json!({"content": "kept"})]);
    let script = r#"
        set -e
        mount -t tmpfs -o size=1m none "$PICOCLAW_HOME"
        mkdir -m 700 "$PICOCLAW_HOME/state"
        cp "$CONFIG" "$PICOCLAW_HOME/config.json"
        "$BINARY" agent -s s -m first
        "$BINARY" session show s >before
        head -c 2m /dev/zero >"$PICOCLAW_HOME/state/fill" 2>/dev/null || true
        if "$BINARY" agent -s s -m "$LONG" 2>full; then echo "answered on a full disk"; exit 1; fi
        rm "$PICOCLAW_HOME/state/fill"
        "$BINARY" session show s | cmp - before
        "$BINARY" agent -s s -m again
        "$BINARY" session show s
    "#;
    let binary = instance.command(&[]).get_program().to_owned();
    let config = instance.dir().join("config.json");
    std::fs::copy(instance.home().join("config.json"), &config).unwrap();
    let mut command = std::process::Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", instance.dir())
        .env("PICOCLAW_HOME", instance.home())
        .env("BINARY", binary)
        .env("CONFIG", config)
        .env("LONG", "x".repeat(9000))
        .current_dir(instance.dir())
        .stdin(Stdio::null());
    let able =
        std::process::Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/tmp"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        picoclaw_testing::skip!("no user namespace with a tmpfs to be had, so no full disk was tried");
        return;
    }
    let ran = crate::test_instance::ran(command.output().unwrap());
    let full = std::fs::read_to_string(instance.dir().join("full")).unwrap_or_default();
    assert_eq!(ran.code, 0, "{ran:?} {full}");
    assert!(full.contains("no space is left"), "{full}");
    assert!(ran.stdout.ends_with("user: first\nassistant: kept\nuser: again\nassistant: kept\n"), "{ran:?}");
}
