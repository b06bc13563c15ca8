//! Who runs: `picoclaw stop`, and the gateway in `picoclaw status`.

use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SCRIPTED: &str = r#"{
  "version": 3,
  "agents": {"defaults": {"model_name": "s"}},
  "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
}"#;

/// A program in the middle of a command that would run for long.
fn busy(instance: &TestInstance, arguments: &[&str], mark: &str) -> Child {
    let mut command = instance.command(arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the command", || instance.workspace().join(mark).exists());
    child
}

/// Whether a process still runs `sleep` for this many seconds.
fn sleeps(seconds: u32) -> bool {
    let line = format!("sleep\0{seconds}\0");
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|found| found.ends_with(line.as_bytes()))
    })
}

#[test]
fn where_nothing_runs_nothing_is_stopped_and_nothing_made() {
    let instance = TestInstance::new();
    let ran = instance.run(&["stop"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing is running\n"), "{ran:?}");
    assert!(!instance.home().exists());
    let instance = TestInstance::with_config(SCRIPTED);
    assert_eq!(instance.run(&["tool", "list"]).code, 0);
    assert_eq!(instance.run(&["stop"]).stdout, "nothing is running\n");
}

#[test]
fn every_turn_and_child_of_the_instance_is_ended_and_no_other() {
    let (instance, other) = (TestInstance::with_config(SCRIPTED), TestInstance::with_config(SCRIPTED));
    let calls = |seconds: u32| {
        let command = format!("touch started; sleep {seconds}");
        json!({"tool_calls": [{"name": "exec", "arguments": {"command": command}}]}).to_string()
    };
    std::fs::write(instance.dir().join("replies.jsonl"), calls(4711)).unwrap();
    std::fs::write(other.dir().join("replies.jsonl"), calls(4712)).unwrap();
    let mut agent = busy(&instance, &["agent", "-m", "work"], "started");
    let mut tool = busy(&instance, &["tool", "exec", r#"{"command": "touch tool; sleep 4711"}"#], "tool");
    let mut left = busy(&other, &["agent", "-m", "work"], "started");
    let began = Instant::now();
    let ran = instance.run(&["stop"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for (who, pid) in [("agent", agent.id()), ("tool", tool.id())] {
        assert!(ran.stdout.contains(&format!("✓ Stopped {who} (PID: {pid})\n")), "{ran:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    for child in [&mut agent, &mut tool] {
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }
    wait_until("the end of the children", || !sleeps(4711));
    assert!(left.try_wait().unwrap().is_none() && sleeps(4712), "another instance goes on");
    assert_eq!(instance.run(&["stop"]).stdout, "nothing is running\n");
    assert_eq!(other.run(&["stop"]).code, 0);
    left.wait().unwrap();
    wait_until("the end of the others", || !sleeps(4712));
}

#[test]
fn a_program_that_was_killed_is_not_looked_for_again() {
    let instance = TestInstance::with_config(SCRIPTED);
    let mut child = busy(&instance, &["tool", "exec", r#"{"command": "touch tool; sleep 4713"}"#], "tool");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(instance.run(&["stop"]).stdout, "nothing is running\n");
    assert_eq!(std::fs::read_dir(instance.home().join("state/running")).unwrap().count(), 0);
}

#[test]
fn status_believes_the_lock_and_shows_no_token() {
    let instance = TestInstance::with_config(SCRIPTED);
    let status = || -> Value {
        let ran = instance.run(&["status", "--json"]);
        assert!(!ran.stdout.contains("5ec4e7"), "{ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["gateway"].clone()
    };
    assert_eq!(status(), json!({"running": false}));
    let pid_file = instance.home().join(".picoclaw.pid");
    let left = r#"{"pid":1,"token":"5ec4e7","version":"0.9","port":18790,"host":"127.0.0.1"}"#;
    std::fs::write(&pid_file, left).unwrap();
    assert_eq!(status(), json!({"running": false}), "PID 1 of a container that is gone");
    assert_eq!(std::fs::read_to_string(&pid_file).unwrap(), left, "looking takes nothing away");
    let lock = File::create(instance.home().join(".picoclaw.lock")).unwrap();
    lock.try_lock().unwrap();
    let running = json!({"running": true, "pid": 1, "version": "0.9", "host": "127.0.0.1", "port": 18790});
    assert_eq!(status(), running, "and of one that is not");
    let text = instance.run(&["status"]).stdout;
    assert!(text.contains("gateway:   running (PID: 1) on 127.0.0.1:18790"), "{text}");
    let ran = instance.run(&["stop"]);
    assert_eq!(ran.code, 1, "a holder that is out of reach is not said to be stopped: {ran:?}");
    // Closing it is not enough: a child that another test has just forked has it open until its exec.
    lock.unlock().unwrap();
    assert_eq!(instance.run(&["stop"]).stdout, "nothing is running\n");
}

#[test]
fn an_agent_gets_at_neither_token_nor_lock() {
    let instance = TestInstance::with_config(SCRIPTED);
    let pid_file = instance.home().join(".picoclaw.pid");
    std::fs::write(&pid_file, r#"{"pid":1,"token":"5ec4e7"}"#).unwrap();
    let link = instance.workspace().join("pid");
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::os::unix::fs::symlink(&pid_file, &link).unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": pid_file})),
        ("read_file", json!({"path": link})),
        ("write_file", json!({"path": pid_file, "content": "{}", "overwrite": true})),
        ("exec", json!({"command": format!("cat {}", pid_file.display())})),
        ("exec", json!({"command": "cat pid"})),
        ("write_file", json!({"path": instance.home().join("state/running/agent-1-1"), "content": ""})),
    ] {
        let ran = instance.tool(tool, &arguments.to_string());
        assert!(ran.code == 1 && !ran.stdout.contains("5ec4e7"), "{tool} {arguments}: {ran:?}");
    }
}
