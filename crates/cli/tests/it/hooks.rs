//! Hooks beside calls that belong to no turn: `picoclaw tool`, and clients of the MCP server.

use crate::hostile::mcp::Mcp;
use crate::hostile::porch::Porch;
use crate::hostile::tool::Tool;
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
        for porch in [&Tool as &dyn Porch, &Mcp] {
            let instance = TestInstance::new();
            let script = instance.dir().join("hook.py");
            std::fs::write(&script, HOOK).unwrap();
            let hook =
                json!({"enabled": true, "command": [program, script, manner], "intercept": ["before_tool"]});
            let config = json!({"version": 3, "hooks": {"processes": {"judge": hook}}});
            let instance = instance.with_config_file(&config.to_string());
            let told =
                porch.call(&instance, &[("exec".to_owned(), r#"{"command": "echo said"}"#.to_owned())]);
            assert!(told[0].text.starts_with(begins), "{why}, {porch:?}: {told:?}");
            let records = instance.records();
            let calls: Vec<_> = records.iter().filter(|one| one["tool"] == "exec").collect();
            let phases: Vec<_> = calls.iter().map(|one| one["phase"].as_str().unwrap()).collect();
            assert_eq!(phases, ["decided", "finished"], "{why}, {porch:?}");
            assert!(calls.iter().all(|one| one["code"].as_str() == code), "{why}, {porch:?}: {calls:?}");
            let left = records.iter().filter(|one| one["tool"] == "guest" && one["phase"] != "decided");
            assert!(
                left.clone().all(|one| one["phase"] == "finished"),
                "{why}, {porch:?}: it left in good order"
            );
        }
    }
}
