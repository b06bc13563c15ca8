//! What a client is offered, and on whose behalf it works.

use super::wire::{Wire, text};
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::process::Stdio;

/// What every request of the revision without a handshake carries.
fn modern(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn names(wire: &mut Wire) -> Vec<String> {
    let listed = wire.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_revision_is_answered_in_its_own_way() {
    for (why, asked, want) in [
        ("the first", "2024-11-05", "2024-11-05"),
        ("the second", "2025-03-26", "2025-03-26"),
        ("the third", "2025-06-18", "2025-06-18"),
        ("the last with a handshake", "2025-11-25", "2025-11-25"),
        ("the first without one, in a handshake all the same", "2026-07-28", "2025-11-25"),
        ("one that nobody knows", "2099-01-01", "2025-11-25"),
    ] {
        let instance = TestInstance::new();
        let mut wire = Wire::open(&instance, &[]);
        let hello = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = wire.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], want, "{why}: {answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "picoclaw", "{why}");
    }
    let instance = TestInstance::new();
    let mut wire = Wire::open(&instance, &[]);
    let found = wire.ask("server/discover", json!({"_meta": modern(json!({}))}));
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    let called = wire.ask(
        "tools/call",
        json!({"_meta": modern(json!({})), "name": "exec", "arguments": {"command": "echo hi"}}),
    );
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(text(&called["result"]), "hi\n");
    let bare = wire.ask("tools/list", json!({}));
    assert_eq!(bare["error"]["code"], -32602, "without its metadata a request means nothing there: {bare}");
}

#[test]
fn only_what_may_be_used_is_offered_and_the_rest_is_refused_at_the_desk() {
    let all = [
        "append_file",
        "check",
        "edit_file",
        "exec",
        "list_dir",
        "policy",
        "read_file",
        "web_fetch",
        "write_file",
    ];
    let disabled = r#"{"agents": {"list": [{"id": "main", "tools": {"disabled": ["exec", "check"]}}]}, "tools": {"append_file": {"enabled": false}}}"#;
    for (why, config, arguments, missing, setting) in [
        ("everything", "{}", &[][..], &[][..], ""),
        ("by its configuration", disabled, &[], &["append_file", "check", "exec"], "tools.disabled"),
        (
            "reading alone",
            "{}",
            &["--read-only"],
            &["append_file", "edit_file", "exec", "write_file"],
            "--read-only",
        ),
    ] {
        let instance = TestInstance::with_config(config);
        let mut wire = Wire::greeted(&instance, arguments, &json!({}));
        let want: Vec<_> = all.iter().filter(|name| !missing.contains(name)).copied().collect();
        assert_eq!(names(&mut wire), want, "{why}");
        assert_eq!(names(&mut wire), want, "{why}: the same again");
        for tool in missing {
            let arguments = match *tool {
                "exec" => json!({"command": "true"}),
                "check" => json!({"action": "read", "subject": "a"}),
                "edit_file" => json!({"path": "a", "old_text": "a", "new_text": "b"}),
                _ => json!({"path": "a", "content": ""}),
            };
            let no = wire.call(tool, arguments);
            assert_eq!(no["structuredContent"]["code"], "tool_disabled", "{why}: {tool}: {no}");
            let rule = no["structuredContent"]["rule"].as_str().unwrap();
            assert!(rule.contains(setting) || rule == "tools.append_file.enabled", "{why}: {tool}: {rule}");
        }
        assert!(!instance.workspace().join("a").exists(), "{why}");
    }
}

#[test]
fn a_call_is_recorded_like_any_other_and_nothing_else_is() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let _ = wire.call("write_file", json!({"path": "a", "content": "x"}));
    let _ = wire.call("read_file", json!({"path": "/etc/passwd"}));
    let _ = wire.call("check", json!({"action": "read", "subject": "/etc/passwd"}));
    let _ = wire.call("policy", json!({}));
    let _ = wire.call("check", json!({"action": "eat"}));
    assert_eq!(wire.end().0, 0);
    let records = instance.records();
    let told: Vec<_> = records
        .iter()
        .map(|record| {
            format!("{} {} {}", record["phase"], record["tool"], record["verdict"]).replace('"', "")
        })
        .collect();
    let want = [
        "decided write_file allow",
        "finished write_file allow",
        "decided read_file deny",
        "finished read_file deny",
        "decided check deny",
        "finished check deny",
    ];
    assert_eq!(told, want);
    assert!(records.iter().all(|record| record["origin"] == "mcp" && record["session"] == "mcp:stdio"));
}

#[test]
fn the_workspace_can_be_another_but_never_more_than_a_project() {
    let instance = TestInstance::with_config(
        r#"{"agents": {"list": [{"id": "main"}, {"id": "coder", "workspace": "{dir}/coder"}]}}"#,
    );
    let project = instance.dir().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("here"), "").unwrap();
    let mut wire = Wire::greeted(&instance, &["--workspace", project.to_str().unwrap()], &json!({}));
    assert_eq!(text(&wire.call("list_dir", json!({}))), "FILE: here");
    let mut wire = Wire::greeted(&instance, &["--agent", "coder"], &json!({}));
    assert_eq!(wire.call("policy", json!({}))["structuredContent"]["agent"], "coder");
    let (dir, home) =
        (instance.dir().to_str().unwrap().to_owned(), instance.home().to_str().unwrap().to_owned());
    for (why, arguments, want) in [
        ("the machine", vec!["--workspace", "/"], "is `/`"),
        ("a home, and above the instance", vec!["--workspace", &dir], "holds"),
        ("the instance", vec!["--workspace", &home], "holds"),
        ("another agent's", vec!["--workspace", "coder"], "overlap"),
        ("nothing", vec!["--workspace", "no-such"], "could not use"),
        ("a file", vec!["--workspace", "project/here"], "is not a directory"),
        ("nobody", vec!["--agent", "nobody"], "there is no agent `nobody`"),
        ("no token", vec!["--http", "127.0.0.1:0"], "needs a token"),
        ("no address", vec!["--http", "here"], "is not an address"),
        ("a token without a door", vec!["--token-file", "t"], "--http"),
    ] {
        let ran = instance.run(&[&["mcp", "serve"][..], &arguments].concat());
        assert_eq!(ran.code, 2, "{why}: {ran:?}");
        assert!(ran.stderr.contains(want), "{why}: {ran:?}");
        assert_eq!(ran.stdout, "", "{why}");
    }
}

#[test]
fn standard_output_carries_the_protocol_alone() {
    let instance = TestInstance::with_config("{}");
    let mut command = instance.command(&["mcp", "serve"]);
    command.env("PICOCLAW_LOG_LEVEL", "debug").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut wire = Wire::start(command);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert_eq!(wire.hear_after("initialize", hello)["jsonrpc"], "2.0");
    for round in 0..3 {
        let answer = wire.hear_after(
            "tools/call",
            json!({"name": "exec", "arguments": {"command": format!("echo {round}")}}),
        );
        assert_eq!(answer["result"]["structuredContent"]["text"], format!("{round}\n"), "{answer}");
    }
}

#[test]
fn a_cursor_that_was_not_handed_out_is_an_error() {
    let instance = TestInstance::new();
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    for cursor in ["", "0", "zzz", "40.0000000000000000"] {
        let answer = wire.ask("tools/list", json!({"cursor": cursor}));
        assert_eq!(answer["error"]["code"], -32602, "`{cursor}`: {answer}");
    }
}

#[test]
fn a_client_that_has_nothing_more_to_say_still_gets_its_answers() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let slow =
        wire.send("tools/call", json!({"name": "exec", "arguments": {"command": "sleep 0.3; echo done"}}));
    wire.hush();
    let answer = wire.hear();
    assert_eq!(answer["id"], slow);
    assert_eq!(answer["result"]["structuredContent"]["text"], "done\n", "{answer}");
    assert_eq!(wire.end().0, 0);
}

impl Wire {
    /// Asks, and takes the very next line for the answer.
    fn hear_after(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params);
        self.hear()
    }
}
