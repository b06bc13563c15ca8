//! Questions to a person: bound to what was shown, answered once, or not at all.

use super::wire::Wire;
use crate::test_instance::TestInstance;
use serde_json::{Value, json};

const ASKING: &str = r#"{"tools": {"exec": {"on_block": "ask"}}}"#;

fn modern_call(command: &str, more: Value) -> Value {
    let mut params = json!({
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
        "name": "exec",
        "arguments": {"command": command},
    });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    params
}

fn answered(ticket: &Value, word: &str) -> Value {
    json!({"requestState": ticket, "inputResponses": {"approval": {"action": "accept", "content": {"answer": word}}}})
}

#[test]
fn a_retry_answers_the_question_that_was_asked_and_no_other() {
    let instance = TestInstance::with_config(ASKING);
    let mut wire = Wire::open(&instance, &[]);
    let ticket_for = |wire: &mut Wire, command: &str| {
        let asked = wire.ask("tools/call", modern_call(command, json!({})))["result"].take();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let message = asked["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
        assert!(message.contains(command), "all of it is shown: {message}");
        asked["requestState"].clone()
    };
    std::fs::create_dir_all(instance.workspace().join("kept")).unwrap();
    let ticket = ticket_for(&mut wire, "rm -rf gone");
    let other = wire.ask("tools/call", modern_call("rm -rf kept", answered(&ticket, "once")));
    assert_eq!(other["result"]["structuredContent"]["code"], "not_approved", "another command: {other}");
    assert!(instance.workspace().join("kept").exists());
    let again = wire.ask("tools/call", modern_call("rm -rf gone", answered(&ticket, "once")));
    assert_eq!(again["result"]["structuredContent"]["code"], "not_approved", "a spent ticket: {again}");
    let forged = wire.ask("tools/call", modern_call("rm -rf gone", answered(&json!("forged"), "once")));
    assert_eq!(forged["result"]["structuredContent"]["code"], "not_approved", "{forged}");
    for (word, want) in [("no", Some("not_approved")), ("yes", Some("not_approved")), ("once", None)] {
        let ticket = ticket_for(&mut wire, "rm -rf kept");
        let result =
            wire.ask("tools/call", modern_call("rm -rf kept", answered(&ticket, word)))["result"].take();
        assert_eq!(result["structuredContent"]["code"].as_str(), want, "{word}: {result}");
    }
    assert!(!instance.workspace().join("kept").exists());
    wire.end();
    let approved = |record: &Value| {
        record["rule"].as_str().is_some_and(|rule| rule.contains("approved by the mcp client"))
    };
    assert!(instance.records().iter().any(approved), "who said yes is recorded");
}

#[test]
fn questions_that_wait_are_bounded() {
    let instance = TestInstance::with_config(ASKING);
    let mut wire = Wire::open(&instance, &[]);
    let outcomes: Vec<Value> = (0..40)
        .map(|round| {
            wire.ask("tools/call", modern_call(&format!("rm -rf x{round}"), json!({})))["result"].take()
        })
        .collect();
    let waiting = outcomes.iter().filter(|outcome| outcome["resultType"] == "input_required").count();
    let refused =
        outcomes.iter().filter(|outcome| outcome["structuredContent"]["code"] == "dangerous_command").count();
    assert_eq!((waiting, refused), (32, 8));
}

#[test]
fn an_elicitation_shows_the_command_and_takes_only_a_yes() {
    let instance = TestInstance::with_config(ASKING);
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    for (why, reply, want) in [
        ("an explicit yes", json!({"result": {"action": "accept", "content": {"answer": "once"}}}), None),
        ("no", json!({"result": {"action": "decline"}}), Some("not_approved")),
        ("a yes without a word", json!({"result": {"action": "accept"}}), Some("not_approved")),
        ("an error", json!({"error": {"code": -32603, "message": "no"}}), Some("command_not_understood")),
    ] {
        let call =
            wire.send("tools/call", json!({"name": "exec", "arguments": {"command": "rm -rf x\u{1b}[2J"}}));
        let asked = wire.hear();
        assert_eq!(asked["method"], "elicitation/create", "{why}: {asked}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains("rm -rf x") && !message.contains('\u{1b}'), "{why}: {message:?}");
        let mut answer = json!({"jsonrpc": "2.0", "id": asked["id"]});
        answer.as_object_mut().unwrap().extend(reply.as_object().unwrap().clone());
        wire.say(&answer);
        let result = wire.hear();
        assert_eq!(result["id"], call, "{why}");
        assert_eq!(result["result"]["structuredContent"]["code"].as_str(), want, "{why}: {result}");
    }
    let mut silent = Wire::greeted(&instance, &[], &json!({}));
    let no = silent.call("exec", json!({"command": "rm -rf x"}));
    assert_eq!(no["structuredContent"]["code"], "dangerous_command", "nobody to ask: {no}");
}
