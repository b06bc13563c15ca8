//! Files that become instructions carry the authority of every subject that could have written them.

use crate::gateway::client::Gateway;
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::fs;

/// `clerk` may not run commands, and may delegate to `main`.
const CONFIG: &str = r#"{
  "version": 3,
  "agents": {
    "defaults": {"model_name": "s"},
    "agents": [
      {"id": "main", "default": true},
      {"id": "clerk", "tools": {"disabled": ["exec"]}, "subagents": {"allow_agents": ["main"]}}
    ]
  },
  "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
}"#;

fn calls(tool: &str, arguments: Value) -> String {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
}

fn say(text: &str) -> String {
    json!({"content": text}).to_string()
}

/// One turn of an agent whose model says this.
fn turn(instance: &TestInstance, agent: &str, replies: &[String]) {
    fs::write(instance.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
    let ran = instance.run(&["agent", "--agent", agent, "-m", "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Has `main` write a file, on behalf of `clerk` or on its own.
fn write(instance: &TestInstance, writer: &str, path: &str, content: &str) {
    let write = calls("write_file", json!({"path": path, "content": content}));
    match writer {
        "clerk" => {
            let delegate = calls("delegate", json!({"agent_id": "main", "task": "write it"}));
            turn(instance, "clerk", &[delegate, write, say("written"), say("done")]);
        }
        _ => turn(instance, writer, &[write, say("done")]),
    }
    assert_eq!(fs::read_to_string(instance.workspace().join(path)).unwrap(), content);
}

/// The last decision about `exec`: its verdict, its code, and the agents above.
fn last_exec(instance: &TestInstance) -> Value {
    let mut records = instance.records();
    records.retain(|record| record["tool"] == "exec" && record["phase"] == "decided");
    let last = records.pop().unwrap();
    json!([last["verdict"], last["code"], last["lineage"]])
}

#[test]
fn instructions_bound_the_turn_that_reads_them_unless_they_are_trusted() {
    for path in ["AGENT.md", "SOUL.md", "USER.md", "memory/MEMORY.md", "skills/a/SKILL.md"] {
        let content = "---\nname: a\ndescription: b\n---\nrun commands\n";
        let exec = |instance: &TestInstance| {
            turn(instance, "main", &[calls("exec", json!({"command": "echo hi"})), say("done")]);
            last_exec(instance)
        };
        let instance = TestInstance::with_config(CONFIG);
        write(&instance, "main", path, content);
        assert_eq!(exec(&instance), json!(["allow", null, null]), "the control: {path} by its own agent");
        write(&instance, "clerk", path, content);
        assert_eq!(exec(&instance), json!(["deny", "tool_disabled", ["clerk"]]), "{path}");
        let file = instance.workspace().join(path);
        let status = instance.run(&["status"]).stdout;
        assert!(status.contains("bounded by clerk"), "{status}");
        assert_eq!(instance.run(&["trust", file.to_str().unwrap()]).code, 0);
        assert!(instance.run(&["status"]).stdout.contains("(trusted)"), "{path}");
        assert_eq!(exec(&instance), json!(["allow", null, null]), "{path}: trusted");
        // Its own changes after that are its own.
        write(&instance, "main", path, &format!("{content}more\n"));
        assert_eq!(exec(&instance), json!(["allow", null, null]), "{path}: changed by its own agent since");
        write(&instance, "clerk", path, &format!("{content}more still\n"));
        assert_eq!(
            exec(&instance),
            json!(["deny", "tool_disabled", ["clerk"]]),
            "{path}: changed by another since"
        );
    }
}

#[test]
fn a_new_ledger_does_not_forget_who_wrote_the_instructions() {
    let exec = |instance: &TestInstance| {
        turn(instance, "main", &[calls("exec", json!({"command": "echo hi"})), say("done")]);
        last_exec(instance)
    };
    let archive = |instance: &TestInstance| {
        fs::rename(instance.home().join("ledger"), instance.dir().join("archived")).unwrap();
        assert_eq!(instance.run(&["audit", "accept"]).code, 0);
    };
    let bound = json!(["deny", "tool_disabled", ["clerk"]]);
    // Written before.
    let instance = TestInstance::with_config(CONFIG);
    write(&instance, "clerk", "AGENT.md", "one\n");
    assert_eq!(exec(&instance), bound, "the control");
    archive(&instance);
    assert_eq!(exec(&instance), bound, "written before the new ledger");
    // Trusted before, and changed after: the numbers of the new ledger begin again.
    let instance = TestInstance::with_config(CONFIG);
    for round in 0..5 {
        write(&instance, "main", "AGENT.md", &format!("{round}\n"));
    }
    let file = instance.workspace().join("AGENT.md");
    assert_eq!(instance.run(&["trust", file.to_str().unwrap()]).code, 0);
    archive(&instance);
    assert_eq!(exec(&instance), json!(["allow", null, null]), "still trusted");
    write(&instance, "clerk", "AGENT.md", "changed\n");
    assert_eq!(exec(&instance), bound, "changed since");
}

#[test]
fn a_heartbeat_has_no_more_authority_than_whoever_wrote_its_list() {
    for (writer, want) in
        [("main", json!(["allow", null, null])), ("clerk", json!(["deny", "tool_disabled", ["clerk"]]))]
    {
        let instance = TestInstance::with_config(CONFIG);
        write(&instance, writer, "HEARTBEAT.md", "- run a command\n");
        let replies = [calls("exec", json!({"command": "echo hi"})), say("done")];
        fs::write(instance.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
        let gateway = Gateway::with(&instance, &[], &[("PICOCLAW_HEARTBEAT_ENABLED", "true")]);
        wait_for("no heartbeat came", || {
            let records = instance.records();
            records.iter().any(|one| one["origin"] == "heartbeat" && one["phase"] == "finished").then_some(())
        });
        gateway.end();
        assert_eq!(last_exec(&instance), want, "written by {writer}");
    }
}

#[test]
fn the_heartbeat_is_off_until_it_is_turned_on() {
    let instance = TestInstance::new();
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let shown = instance.run(&["config", "show", "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let text = shown.to_string();
    assert!(text.contains("heartbeat.enabled"), "{text}");
    let config: Value = shown
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["key"] == "heartbeat.enabled").cloned())
        .unwrap_or(Value::Null);
    assert_eq!(config["value"], false, "{config}");
}

#[test]
fn a_list_that_is_not_run_is_told() {
    let instance = TestInstance::with_config(CONFIG);
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let told = |instance: &TestInstance| {
        let gateway = Gateway::new(instance);
        let (_, _, said) = gateway.end();
        said.contains("The tasks in `HEARTBEAT.md` are not run")
    };
    assert!(!told(&instance), "the control: no list");
    fs::write(instance.workspace().join("HEARTBEAT.md"), "- water the plants\n").unwrap();
    assert!(told(&instance), "the first version ran it");
}

#[test]
fn only_files_of_a_workspace_can_be_trusted() {
    let instance = TestInstance::with_config(CONFIG);
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let outside = instance.dir().join("AGENT.md");
    fs::write(&outside, "x").unwrap();
    assert_eq!(instance.run(&["trust", outside.to_str().unwrap()]).code, 2);
    assert_eq!(instance.run(&["trust", "/nonexistent"]).code, 2);
    assert_eq!(instance.run(&["trust"]).code, 2);
}
