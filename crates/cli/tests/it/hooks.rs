//! Hooks beside calls that belong to no turn: `picoclaw tool`, and clients of the MCP server.

use crate::hostile::entry_point::EntryPoint;
use crate::hostile::mcp::Mcp;
use crate::hostile::tool::Tool;
use crate::mcp::wire::{Wire, text};
use crate::test_instance::TestInstance;
use serde_json::json;

/// A hook that does as its argument says.
const HOOK: &str = include_str!("../../../agent/tests/peers/hook.py");

#[test]
fn calls_outside_of_turns_pass_the_same_hooks() {
    let change = |command: &str| json!({"action": "modify", "call": {"arguments": {"command": command}}});
    let refused = Some("denied_by_hook");
    for (why, program, manner, begins, code) in [
        ("it agrees", "python3", json!({"action": "continue"}).to_string(), "said", None),
        (
            "it objects",
            "python3",
            json!({"action": "deny_tool", "reason": "not today"}).to_string(),
            "Tool execution denied by hook: not today",
            refused,
        ),
        ("it changes the call", "python3", change("echo changed").to_string(), "changed", None),
        (
            "what it makes of a call is judged",
            "python3",
            change("sudo id").to_string(),
            "Command blocked by safety guard (dangerous pattern detected)",
            Some("dangerous_command"),
        ),
        (
            "it answers in its place",
            "python3",
            json!({"action": "respond", "result": {"for_llm": "cached"}}).to_string(),
            "cached",
            None,
        ),
        (
            "there is no turn to end",
            "python3",
            json!({"action": "abort_turn", "reason": "enough"}).to_string(),
            "Tool execution denied by hook: the turn was ended by a hook: enough",
            refused,
        ),
        ("it dies", "python3", "dies".to_owned(), "Tool execution denied by hook: ", refused),
        ("it talks nonsense", "python3", "garbage".to_owned(), "Tool execution denied by hook: ", refused),
        ("it is not there", "/nonexistent", String::new(), "Tool execution denied by hook: ", refused),
    ] {
        for entry_point in [&Tool as &dyn EntryPoint, &Mcp] {
            let instance = TestInstance::new();
            let script = instance.dir().join("hook.py");
            std::fs::write(&script, HOOK).unwrap();
            let hook =
                json!({"enabled": true, "command": [program, script, manner], "intercept": ["before_tool"]});
            let config = json!({"version": 3, "hooks": {"processes": {"judge": hook}}});
            let instance = instance.with_config_file(&config.to_string());
            let told =
                entry_point.call(&instance, &[("exec".to_owned(), r#"{"command": "echo said"}"#.to_owned())]);
            assert!(told[0].text.starts_with(begins), "{why}, {entry_point:?}: {told:?}");
            let records = instance.records();
            let calls: Vec<_> = records.iter().filter(|one| one["tool"] == "exec").collect();
            let phases: Vec<_> = calls.iter().map(|one| one["phase"].as_str().unwrap()).collect();
            assert_eq!(phases, ["decided", "finished"], "{why}, {entry_point:?}");
            assert!(
                calls.iter().all(|one| one["code"].as_str() == code),
                "{why}, {entry_point:?}: {calls:?}"
            );
            let left = records.iter().filter(|one| one["tool"] == "helper" && one["phase"] != "decided");
            assert!(
                left.clone().all(|one| one["phase"] == "finished"),
                "{why}, {entry_point:?}: it left in good order"
            );
        }
    }
}

fn with_hook(script: &str, more: serde_json::Value) -> serde_json::Value {
    let mut hook = json!({"enabled": true, "command": ["python3", script, r#"{"action": "continue"}"#]});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"version": 3, "isolation": {"enabled": false}, "hooks": {"processes": {"judge": hook}}})
}

#[test]
fn a_hook_that_an_agent_can_write_is_refused() {
    let instance = TestInstance::new();
    std::fs::create_dir_all(instance.workspace()).unwrap();
    let (inside, outside) = (instance.workspace().join("hook.py"), instance.dir().join("hook.py"));
    std::fs::write(&inside, HOOK).unwrap();
    std::fs::write(&outside, HOOK).unwrap();
    let intercept = json!({"intercept": ["before_tool"]});
    instance.configure(&with_hook(outside.to_str().unwrap(), intercept.clone()).to_string());
    assert_eq!(instance.run(&["agent", "-m", "echo ran"]).stdout, "ran\n", "control");
    assert_eq!(instance.run(&["config", "check"]).code, 0, "control");
    let status = instance.run(&["status"]);
    assert!(!status.stdout.contains("hook `judge`"), "control: {status:?}");
    instance.configure(&with_hook(inside.to_str().unwrap(), intercept).to_string());
    let text = "lies where an agent can write";
    let ran = instance.run(&["agent", "-m", "echo ran"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("hook `judge`") && ran.stderr.contains(text), "{ran:?}");
    let ran = instance.tool("exec", r#"{"command": "echo ran"}"#);
    assert!(ran.code == 1 && ran.stdout.contains(text), "{ran:?}");
    let checked = instance.run(&["config", "check"]);
    assert!(checked.code == 2 && checked.stderr.contains(text), "{checked:?}");
    let status = instance.run(&["status"]);
    assert!(status.code == 0 && status.stdout.contains(text), "{status:?}");
}

#[test]
fn results_of_approved_calls_pass_the_hooks_too() {
    let instance = TestInstance::new();
    let script = instance.dir().join("hook.py");
    std::fs::write(&script, HOOK).unwrap();
    let manner = r#"{"action": "modify", "result": {"result": {"for_llm": "less"}}}"#;
    let hook = json!({"enabled": true, "command": ["python3", script, manner], "intercept": ["after_tool"]});
    let config = json!({"version": 3, "tools": {"ask": ["exec"]}, "hooks": {"processes": {"judge": hook}}});
    let instance = instance.with_config_file(&config.to_string());
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    let arguments = json!({"command": "echo a secret"});
    let call = json!({"name": "exec", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = wire.send("tools/call", call);
    let asked = wire.hear();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let yes = json!({"action": "accept", "content": {"answer": "once"}});
    wire.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes}));
    loop {
        let heard = wire.hear();
        assert!(!heard.to_string().contains("a secret"), "nor as progress: {heard}");
        if heard["id"] == id {
            assert_eq!(text(&heard["result"]), "less", "{heard}");
            break;
        }
    }
}

#[test]
fn observers_hear_the_end_of_a_turn() {
    let instance = TestInstance::new();
    let script = instance.dir().join("hook.py");
    std::fs::write(&script, HOOK).unwrap();
    let observe = json!({"observe": ["turn_start", "turn_end"], "env": {"HOME": instance.dir()}});
    let instance = instance.with_config_file(&with_hook(script.to_str().unwrap(), observe).to_string());
    assert_eq!(instance.run(&["agent", "-m", "echo ran"]).stdout, "ran\n");
    let heard = || std::fs::read_to_string(instance.dir().join("events")).unwrap_or_default();
    assert_eq!(heard(), "agent.turn.start\nagent.turn.end\n");
    assert_eq!(instance.run(&["cron", "add", "-n", "job", "-m", "echo ran", "-e", "3600"]).code, 0);
    let jobs = instance.run(&["cron", "list", "--json"]).stdout;
    let jobs: serde_json::Value = serde_json::from_str(&jobs).unwrap();
    let ran = instance.run(&["cron", "run", jobs[0]["id"].as_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(heard(), "agent.turn.start\nagent.turn.end\n".repeat(2));
}

#[test]
fn an_event_that_does_not_exist_is_named() {
    let instance = TestInstance::with_config("{}");
    let script = instance.dir().join("hook.py");
    std::fs::write(&script, HOOK).unwrap();
    for (kind, is_known) in [("turn_start", true), ("agent.tool.*", true), ("turn_starts", false)] {
        let observe = json!({"observe": [kind], "env": {"HOME": instance.dir()}});
        instance.configure(&with_hook(script.to_str().unwrap(), observe).to_string());
        let ran = instance.run(&["agent", "-m", "echo ran"]);
        assert_eq!(ran.stdout, "ran\n", "{kind}: {ran:?}");
        assert_eq!(ran.stderr.contains("No event has this name"), !is_known, "{kind}: {ran:?}");
    }
}
