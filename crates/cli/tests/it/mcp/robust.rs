//! Clients that mean harm, and clients that die.

use super::wire::{Wire, fresh_sleep, sleeps, text};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn what_is_no_message_is_answered_and_the_connection_lives() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::open(&instance, &[]);
    // Before the handshake as well: what is not a request must not end it.
    wire.say_bytes(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    wire.say_bytes(br#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    wire.say_bytes(b"no JSON");
    assert_eq!(wire.hear()["error"]["code"], -32700);
    drop(wire);
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (why, line, want) in [
        ("no JSON", &b"GET / HTTP/1.1"[..], Some((-32700, Value::Null))),
        ("half of a message", br#"{"jsonrpc":"2.0","id":1,"method":"#, Some((-32700, Value::Null))),
        ("not UTF-8", b"\xff\xfe\x00", Some((-32700, Value::Null))),
        ("nested without end", deep.as_bytes(), Some((-32700, Value::Null))),
        ("a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some((-32600, Value::Null))),
        ("an empty batch", b"[]", Some((-32600, Value::Null))),
        ("another version", br#"{"jsonrpc":"1.0","id":"v","method":"ping"}"#, Some((-32602, json!("v")))),
        ("no method", br#"{"jsonrpc":"2.0","id":"m"}"#, Some((-32600, json!("m")))),
        (
            "no name",
            br#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{}}"#,
            Some((-32602, json!("n"))),
        ),
        (
            "a method that nobody has",
            br#"{"jsonrpc":"2.0","id":"x","method":"tools/steal"}"#,
            Some((-32601, json!("x"))),
        ),
        ("an empty line", b"", None),
        ("an answer to nothing", br#"{"jsonrpc":"2.0","id":77,"result":{"x":1}}"#, None),
        (
            "a notification that nobody knows",
            br#"{"jsonrpc":"2.0","method":"notifications/spam","params":[1]}"#,
            None,
        ),
    ] {
        wire.say_bytes(line);
        if let Some((code, id)) = want {
            let answer = wire.hear();
            assert_eq!(answer["error"]["code"], code, "{why}: {answer}");
            assert_eq!(answer["id"], id, "{why}: {answer}");
        }
        let alive = wire.call("exec", json!({"command": "echo alive"}));
        assert_eq!(text(&alive), "alive\n", "{why}");
    }
}

#[test]
fn arguments_that_are_no_object_are_a_refused_call_like_any_other() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    for (tool, arguments) in [
        ("exec", json!("ls")),
        ("read_file", json!(["a"])),
        ("list_dir", json!(null)),
        ("check", json!(7)),
        ("nope", json!(true)),
    ] {
        let result = wire.call(tool, arguments.clone());
        // Left out and `null` are the same to a client.
        if arguments.is_null() {
            assert_eq!(result["isError"], false, "{tool}: {result}");
            continue;
        }
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let code = result["structuredContent"]["code"].as_str().unwrap();
        assert_eq!(code, if tool == "nope" { "unknown_tool" } else { "invalid_arguments" }, "{tool}");
    }
    wire.end();
    assert_eq!(instance.records().iter().filter(|record| record["verdict"] == "deny").count(), 8);
}

#[test]
fn a_frame_of_50_mb_is_refused_under_its_own_id_and_never_held() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let _ = wire.call("list_dir", json!({}));
    let before = peak(wire.child.id());
    let content = "x".repeat(50 << 20);
    let big = json!({"jsonrpc": "2.0", "id": "big", "method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "big", "content": content}}});
    wire.say(&big);
    let answer = wire.hear();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert_eq!(answer["id"], "big", "whoever waits for it must hear it: {answer}");
    let grown = peak(wire.child.id()).saturating_sub(before);
    assert!(grown < 16 << 10, "the peak grew by {grown} KiB");
    // Just below the limit it is a message like any other.
    let content = "y".repeat(3 << 20);
    let fits = wire.call("write_file", json!({"path": "fits", "content": content}));
    assert_eq!(text(&fits), "File written: fits");
    assert!(!instance.workspace().join("big").exists());
}

fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn a_client_that_floods_is_answered_to_the_last_call() {
    const CALLS: usize = 1_000;
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let _ = wire.call("write_file", json!({"path": "a", "content": "x".repeat(1000)}));
    let ids: Vec<u64> = (0..CALLS)
        .map(|_| wire.send("tools/call", json!({"name": "read_file", "arguments": {"path": "a"}})))
        .collect();
    let mut answered: Vec<u64> = (0..CALLS)
        .map(|_| {
            let answer = wire.hear();
            let is_done = answer["result"]["isError"] == false;
            assert!(is_done || answer["error"]["code"] == -32000, "{answer}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, ids, "each once");
    let threads = std::fs::read_dir(format!("/proc/{}/task", wire.child.id())).unwrap().count();
    assert!(threads < 64, "{threads} threads");
}

#[test]
fn an_identifier_is_in_use_once() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let call = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "exec", "arguments": {"command": "sleep 3; echo first"}}});
    wire.say(&call);
    wire.say(&call);
    assert_eq!(wire.hear()["error"]["code"], -32600);
    assert_eq!(wire.hear()["result"]["structuredContent"]["text"], "first\n");
    wire.say(&call);
    assert_eq!(wire.hear()["result"]["structuredContent"]["text"], "first\n", "free again");
}

#[test]
fn a_cancelled_call_dies_with_its_whole_tree_and_is_not_answered() {
    let instance = TestInstance::with_config("{}");
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let time = fresh_sleep();
    let command = format!("trap '' TERM; setsid sleep {time} & sleep {time}; wait");
    let id = wire.send("tools/call", json!({"name": "exec", "arguments": {"command": command}}));
    wait_until("it never began", || sleeps(&time));
    wire.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
    wait_until("it outlived its cancellation", || !sleeps(&time));
    assert_eq!(wire.hear_soon(), None, "a cancelled call has no answer");
    assert_eq!(text(&wire.call("exec", json!({"command": "echo next"}))), "next\n");
    wire.end();
    assert!(
        instance
            .records()
            .iter()
            .any(|record| record["outcome"].as_str().is_some_and(|told| told.contains("halted")))
    );
}

#[test]
fn a_call_ends_at_its_deadline_with_its_whole_tree() {
    let instance = TestInstance::with_config(r#"{"tools": {"exec": {"timeout_seconds": 6}}}"#);
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    for (why, timeout) in
        [("its own", json!(5)), ("the configuration's, which it cannot lengthen", json!(600))]
    {
        let time = fresh_sleep();
        let command = format!("echo begun; setsid sleep {time} & sleep {time}");
        let result = wire.call("exec", json!({"command": command, "timeout": timeout}));
        assert_eq!(result["isError"], true, "{why}: {result}");
        let outcome = result["structuredContent"]["outcome"].as_str().unwrap();
        assert!(outcome.contains("timed out"), "{why}: {result}");
        assert!(text(&result).contains("begun"), "{why}: what it said is kept: {result}");
        assert!(!sleeps(&time), "{why}: a child outlived the deadline");
    }
}

#[test]
fn a_client_that_vanishes_takes_everything_with_it() {
    for (why, arguments) in [
        ("a command", json!({"command": "sleep {time}"})),
        ("a command that will not die", json!({"command": "trap '' TERM; setsid sleep {time} & wait"})),
        ("a background command", json!({"command": "sleep {time}", "background": true})),
    ] {
        let instance = TestInstance::with_config("{}");
        let mut wire = Wire::greeted(&instance, &[], &json!({}));
        let time = fresh_sleep();
        let command = arguments["command"].as_str().unwrap().replace("{time}", &time);
        let mut arguments = arguments.clone();
        arguments["command"] = json!(command);
        wire.send("tools/call", json!({"name": "exec", "arguments": arguments}));
        wait_until("it never began", || sleeps(&time));
        let (code, took) = wire.vanish();
        assert_eq!(code, 0, "{why}");
        assert!(took < Duration::from_secs(20), "{why}: {took:?}");
        wait_until("a child outlived the client", || !sleeps(&time));
    }
}

#[test]
fn what_a_background_command_left_in_protected_files_is_noted() {
    let instance = TestInstance::with_config(r#"{"tools": {"exec": {"guard": "smart"}}}"#);
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    let answer = |told: &Value| serde_json::from_str::<Value>(text(told)).unwrap();
    for (command, is_noted) in [("echo x > plain", false), ("echo x > .zlogout", true)] {
        let started = answer(&wire.call("exec", json!({"command": command, "background": true})));
        let mut session = json!({"action": "poll", "sessionId": started["sessionId"]});
        wait_until("it never ended", || answer(&wire.call("exec", session.clone()))["status"] == "done");
        for action in ["poll", "read", "kill"] {
            session["action"] = json!(action);
            let told = answer(&wire.call("exec", session.clone()));
            assert_eq!(told["notes"].to_string().contains(".zlogout"), is_noted, "{action}: {told}");
        }
    }
    wire.end();
}
