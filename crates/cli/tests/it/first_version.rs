//! An instance that the first version made goes on: ledger, sessions, pins, jobs and tokens.
//!
//! The files of that version differ from today's in the ledger alone: its records name neither the agents above nor the
//! principal, and its head is kept in `ledger/HEAD` only.

use crate::gateway::client::Gateway;
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const CONFIG: &str = r#"{
  "version": 3,
  "agents": {
    "defaults": {"model_name": "s"},
    "agents": [
      {"id": "main", "default": true, "subagents": {"allow_agents": ["main"]}},
      {"id": "clerk", "tools": {"disabled": ["exec"]}, "subagents": {"allow_agents": ["CLERK_STARTS"]}}
    ]
  },
  "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
}"#;

fn calls(tool: &str, arguments: &Value) -> String {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
}

fn say(text: &str) -> String {
    json!({"content": text}).to_string()
}

/// One turn of `main` whose model says this.
fn turn(instance: &TestInstance, replies: &[String]) -> crate::test_instance::Ran {
    fs::write(instance.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
    instance.run(&["agent", "-s", "talk", "-m", "go"])
}

fn sha256(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()[..64].to_owned()
}

/// Writes a ledger as the first version would have: the same records without the newer members, chained anew.
fn write_first_version(home: &Path) -> Vec<u8> {
    let segment = fs::read_dir(home.join("ledger")).unwrap().flatten().map(|entry| entry.path());
    let segment =
        segment.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let (mut text, mut prev, mut seq) = (String::new(), "0".repeat(64), 0);
    for line in fs::read_to_string(&segment).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let mut line = line.to_owned();
        for newer in ["lineage", "principal"] {
            line = line.replace(&format!(",\"{newer}\":{}", record[newer]), "");
        }
        let line = line.replace(record["prev"].as_str().unwrap(), &prev);
        let body = format!("{}}}", line.split(",\"hash\":").next().unwrap());
        prev = sha256(body.as_bytes());
        text.push_str(&format!("{},\"hash\":\"{prev}\"}}\n", &body[..body.len() - 1]));
        seq = record["seq"].as_u64().unwrap();
    }
    fs::write(&segment, &text).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let fields = format!(
        "{prev}\n{{\"seq\":{seq},\"segment\":1,\"length\":{},\"synced\":{seq},\"boot\":\"{}\"",
        text.len(),
        boot.trim()
    );
    let head = format!("{fields},\"check\":\"{}\"}}", &sha256(fields.as_bytes())[..16]);
    let head = format!("{head:<319}\n").into_bytes();
    fs::write(home.join("ledger/HEAD"), &head).unwrap();
    for newer in ["ledger-head", "authors.json", "tokens.json", "trusted.json"] {
        let _ = fs::remove_file(home.join("state").join(newer));
    }
    head
}

/// An instance of the first version in which a subagent wrote the instructions.
fn made_by_first_version(clerk_starts: &str) -> (TestInstance, Vec<u8>) {
    let instance = TestInstance::with_config(&CONFIG.replace("CLERK_STARTS", clerk_starts));
    let write = calls("write_file", &json!({"path": "AGENT.md", "content": "be kind\n"}));
    let spawn = calls("subagent", &json!({"task": "write it"}));
    let ran = turn(&instance, &[spawn, write, say("written"), say("done")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = ["cron", "add", "-n", "job", "--command", "echo job", "-e", "3600"];
    assert_eq!(instance.run(&job).code, 0);
    let head = write_first_version(&instance.home());
    (instance, head)
}

#[test]
fn its_ledger_goes_on_and_that_is_told_in_one_line() {
    let (instance, old_head) = made_by_first_version("clerk");
    let verified = instance.run(&["audit", "verify"]);
    assert!(verified.code == 0 && verified.stdout.starts_with("intact"), "{verified:?}");
    let before = instance.records();
    assert!(before.iter().all(|one| one["lineage"].is_null() && one["principal"].is_null()), "{before:?}");
    let first = instance.tool("list_dir", "{}");
    assert_eq!(first.code, 0, "{first:?}");
    let told: Vec<_> = first.stderr.lines().filter(|line| line.contains("earlier version")).collect();
    assert!(told.len() == 1 && told[0].contains("ledger-head.v1"), "{first:?}");
    assert_eq!(fs::read(instance.home().join("state/ledger-head.v1")).unwrap(), old_head, "the backup");
    let second = instance.tool("list_dir", "{}");
    assert!(second.code == 0 && !second.stderr.contains("earlier version"), "told once: {second:?}");
    let verified = instance.run(&["audit", "verify"]);
    assert!(verified.code == 0 && verified.stdout.starts_with("intact"), "{verified:?}");
    let after = instance.records();
    assert_eq!(after[..before.len()], before[..], "every record is there");
    // From then on it is held to that.
    fs::remove_file(instance.home().join("state/ledger-head")).unwrap();
    let verified = instance.run(&["audit", "verify"]);
    assert_eq!(verified.code, 1, "{verified:?}");
}

#[test]
fn its_sessions_jobs_and_tokens_are_read() {
    let (instance, _) = made_by_first_version("clerk");
    let listed: Value = serde_json::from_str(&instance.run(&["session", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed[0]["name"], "talk", "{listed}");
    let count = listed[0]["messages"].as_u64().unwrap();
    assert_eq!(turn(&instance, &[say("again")]).code, 0);
    let listed: Value = serde_json::from_str(&instance.run(&["session", "list", "--json"]).stdout).unwrap();
    assert!(listed[0]["messages"].as_u64().unwrap() > count, "{listed}");
    let jobs: Value = serde_json::from_str(&instance.run(&["cron", "list", "--json"]).stdout).unwrap();
    let ran = instance.run(&["cron", "run", jobs[0]["id"].as_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let token = [("PICOCLAW_GATEWAY_TOKEN", "0123456789abcdef0123456789abcdef")];
    let gateway = Gateway::with(&instance, &[], &token);
    assert_eq!(gateway.get("/api/sessions").status, 200, "the token of the PID file");
    let configured = gateway.status("GET /api/sessions", token[0].1, "127.0.0.1");
    assert_eq!(configured.status, 200, "the configured one: {configured:?}");
    gateway.end();
}

#[test]
fn its_instructions_are_bounded_by_the_agents_that_could_have_had_them_written() {
    // The records of that version do not say who had started a subagent.
    for (clerk_starts, want) in [("clerk", "allow"), ("main", "deny")] {
        let (instance, _) = made_by_first_version(clerk_starts);
        let exec = calls("exec", &json!({"command": "echo hi"}));
        assert_eq!(turn(&instance, &[exec.clone(), say("done")]).code, 0);
        let verdict = || {
            let records = instance.records();
            let last = records.iter().rfind(|one| one["tool"] == "exec" && one["phase"] == "decided");
            last.unwrap()["verdict"].as_str().unwrap().to_owned()
        };
        assert_eq!(verdict(), want, "clerk may start {clerk_starts}");
        let file = instance.workspace().join("AGENT.md");
        assert_eq!(instance.run(&["trust", file.to_str().unwrap()]).code, 0);
        assert_eq!(turn(&instance, &[exec, say("done")]).code, 0);
        assert_eq!(verdict(), "allow", "trusted");
    }
}
