//! A yes is bound to the whole act: arguments, directory, background, time limit, agent and session.

use super::wire::Wire;
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const ASKING: &str = r#"{"tools": {"exec": {"on_block": "ask"}}}"#;

/// Makes a call; `between` runs when the question is open, and the question is answered with `word`. What was asked, if
/// anything was, and the result.
fn call(
    wire: &mut Wire,
    tool: &str,
    arguments: &Value,
    word: &Value,
    between: impl FnOnce(),
) -> (Option<String>, Value) {
    let id = wire.send("tools/call", json!({"name": tool, "arguments": arguments}));
    let heard = wire.hear();
    if heard["method"] != "elicitation/create" {
        assert_eq!(heard["id"], id);
        return (None, heard["result"].clone());
    }
    between();
    let message = heard["params"]["message"].as_str().unwrap().to_owned();
    wire.say(&json!({"jsonrpc": "2.0", "id": heard["id"], "result": {"action": "accept", "content": word}}));
    let result = wire.hear();
    assert_eq!(result["id"], id);
    (Some(message), result["result"].clone())
}

fn workspace(config: &str) -> TestInstance {
    let instance = TestInstance::with_config(config);
    assert_eq!(instance.run(&["onboard"]).code, 0);
    for dir in ["one", "two", "kept"] {
        fs::create_dir_all(instance.workspace().join(dir)).unwrap();
        fs::write(instance.workspace().join(dir).join("data.txt"), "x").unwrap();
    }
    instance
}

#[test]
fn a_session_yes_serves_the_same_act_and_no_other() {
    let instance = workspace(ASKING);
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    let yes = json!({"answer": "session"});
    let act = json!({"command": "rm -rf data.txt", "cwd": "one"});
    let (asked, _) = call(&mut wire, "exec", &act, &yes, || {});
    let asked = asked.unwrap();
    let dir = fs::canonicalize(instance.workspace().join("one")).unwrap();
    for part in [
        "| rm -rf data.txt",
        &format!("path: {}", dir.display()),
        "in the foreground, for at most 60 s",
        "agent: main",
    ] {
        assert!(asked.contains(part), "`{part}` in {asked}");
    }
    let (again, _) = call(&mut wire, "exec", &act, &yes, || {});
    assert_eq!(again, None, "the control: the same act is not asked again");
    let no = json!({"answer": "no"});
    for (why, other) in [
        ("another directory", json!({"command": "rm -rf data.txt", "cwd": "two"})),
        ("the background", json!({"command": "rm -rf data.txt", "cwd": "one", "background": true})),
        ("another time limit", json!({"command": "rm -rf data.txt", "cwd": "one", "timeout": 5})),
        ("another spelling of the directory", json!({"command": "rm -rf data.txt", "cwd": "./one"})),
    ] {
        let (asked, result) = call(&mut wire, "exec", &other, &no, || {});
        assert!(asked.is_some(), "{why}: {result}");
    }
    assert!(instance.workspace().join("two/data.txt").exists());
    // The same name, another directory.
    fs::rename(instance.workspace().join("one"), instance.workspace().join("old")).unwrap();
    fs::create_dir(instance.workspace().join("one")).unwrap();
    let (asked, _) = call(&mut wire, "exec", &act, &no, || {});
    assert!(asked.is_some(), "a directory is known by device and inode");
}

#[test]
fn what_changed_between_question_and_answer_is_refused() {
    type Swap = fn(&TestInstance);
    let link: Swap = |instance| {
        let ws = instance.workspace();
        fs::rename(ws.join("one"), ws.join("away")).unwrap();
        symlink("kept", ws.join("one")).unwrap();
    };
    let replaced: Swap = |instance| {
        let ws = instance.workspace();
        fs::rename(ws.join("one"), ws.join("away")).unwrap();
        fs::create_dir(ws.join("one")).unwrap();
    };
    for (why, arguments, swap, is_run) in [
        ("the control", json!({"command": "rm -rf data.txt", "cwd": "one"}), (|_| {}) as Swap, true),
        ("the directory is a link now", json!({"command": "rm -rf data.txt", "cwd": "one"}), link, false),
        (
            "the directory is another one",
            json!({"command": "rm -rf data.txt", "cwd": "one"}),
            replaced,
            false,
        ),
        ("the control, by a path", json!({"command": "rm -rf one/data.txt"}), (|_| {}) as Swap, true),
        ("a directory on the path is a link now", json!({"command": "rm -rf one/data.txt"}), link, false),
        ("the same with a pattern", json!({"command": "rm -rf one/*"}), link, false),
        ("the same in quotes", json!({"command": "rm -rf 'o'\"ne\"/data.txt"}), link, false),
    ] {
        let instance = workspace(ASKING);
        let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
        let (asked, result) =
            call(&mut wire, "exec", &arguments, &json!({"answer": "once"}), || swap(&instance));
        assert!(asked.is_some(), "{why}: {result}");
        let code = result["structuredContent"]["code"].as_str();
        assert_eq!(code.is_none(), is_run, "{why}: {result}");
        assert!(instance.workspace().join("kept/data.txt").exists(), "{why}");
    }
}

#[test]
fn a_standing_yes_does_not_follow_a_path_elsewhere() {
    for word in ["session", "always"] {
        let instance = workspace(ASKING);
        let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
        let act = json!({"command": "rm -rf one/data.txt"});
        let (asked, _) = call(&mut wire, "exec", &act, &json!({"answer": word}), || {});
        assert!(asked.is_some());
        fs::write(instance.workspace().join("one/data.txt"), "again").unwrap();
        let (asked, _) = call(&mut wire, "exec", &act, &json!({"answer": "no"}), || {});
        assert_eq!(asked, None, "{word}: the control, the same act");
        let ws = instance.workspace();
        fs::rename(ws.join("one"), ws.join("away")).unwrap();
        symlink("kept", ws.join("one")).unwrap();
        let (asked, _) = call(&mut wire, "exec", &act, &json!({"answer": "no"}), || {});
        let asked = asked.unwrap_or_else(|| panic!("{word}: the path leads elsewhere now"));
        let link = format!("link: {}/one/data.txt -> ", fs::canonicalize(&ws).unwrap().display());
        assert!(asked.contains(&link) || asked.contains("/one/data.txt -> "), "{asked}");
        assert!(ws.join("kept/data.txt").exists(), "{word}");
    }
}

#[test]
fn no_crowd_of_words_hides_a_path_that_changed() {
    let instance = workspace(ASKING);
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    let crowd: Vec<String> = (0..1000).map(|at| format!("a{at}")).collect();
    let act = json!({"command": format!("rm -rf {} one/data.txt", crowd.join(" "))});
    let swap = || {
        let ws = instance.workspace();
        fs::rename(ws.join("one"), ws.join("away")).unwrap();
        symlink("kept", ws.join("one")).unwrap();
    };
    let (asked, result) = call(&mut wire, "exec", &act, &json!({"answer": "once"}), swap);
    assert!(asked.is_some(), "{result}");
    assert_eq!(result["structuredContent"]["code"], "not_approved", "{result}");
    assert!(instance.workspace().join("kept/data.txt").exists());
    let (_, result) = call(&mut wire, "exec", &act, &json!({"answer": "once"}), || {});
    assert!(result["structuredContent"]["code"].is_null(), "the control: {result}");
}

#[test]
fn a_no_can_say_why_and_the_model_is_told() {
    let instance = workspace(ASKING);
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    let no = json!({"answer": "no", "reason": "use the trash instead"});
    let (_, result) = call(&mut wire, "exec", &json!({"command": "rm -rf one"}), &no, || {});
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Command blocked by safety guard"), "{text}");
    assert!(text.contains("use the trash instead"), "{text}");
}

#[test]
fn always_is_a_rule_for_exactly_this_until_it_is_revoked() {
    let instance = workspace(ASKING);
    let act = json!({"command": "rm -rf data.txt", "cwd": "one"});
    let asks = |arguments: &Value, word: &str| {
        let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
        let (asked, _) = call(&mut wire, "exec", arguments, &json!({"answer": word}), || {});
        asked.is_some()
    };
    assert!(asks(&act, "always"));
    assert!(!asks(&act, "no"), "another process, another session");
    assert!(asks(&json!({"command": "rm -rf data.txt", "cwd": "two"}), "no"), "another directory");
    fs::write(instance.workspace().join("one/data.txt"), "x").unwrap();
    let ran = instance.tool("exec", &act.to_string());
    assert_eq!(ran.code, 0, "a call with nobody to ask, too: {ran:?}");
    assert!(!instance.workspace().join("one/data.txt").exists());
    let listed: Value = serde_json::from_str(&instance.run(&["approvals", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed[0]["text"], "rm -rf data.txt", "{listed}");
    let id = listed[0]["id"].as_str().unwrap();
    let status = instance.run(&["status"]).stdout;
    assert!(status.contains(id) && status.contains("rm -rf data.txt"), "{status}");
    assert_eq!(instance.run(&["approvals", "revoke", "nothing"]).code, 1);
    assert_eq!(instance.run(&["approvals", "revoke", id]).code, 0);
    assert!(asks(&act, "no"), "revoked");
    assert_eq!(instance.tool("exec", &act.to_string()).code, 3);
}

#[test]
fn every_tool_can_be_asked_about() {
    let instance = workspace(r#"{"tools": {"ask": ["write_file", "read_file", "web_fetch"]}}"#);
    let mut wire = Wire::greeted(&instance, &[], &json!({"elicitation": {}}));
    let write = json!({"path": "new.txt", "content": "hello\nwhy: it is fine"});
    let (asked, _) = call(&mut wire, "write_file", &write, &json!({"answer": "no"}), || {});
    let asked = asked.unwrap();
    assert!(asked.contains("  | hello\n") && asked.contains("  | why: it is fine"), "{asked}");
    assert!(!instance.workspace().join("new.txt").exists());
    let (_, result) = call(&mut wire, "write_file", &write, &json!({"answer": "once"}), || {});
    assert!(instance.workspace().join("new.txt").exists(), "{result}");
    let (asked, result) =
        call(&mut wire, "read_file", &json!({"path": "new.txt"}), &json!({"answer": "once"}), || {});
    assert!(
        asked.is_some() && result["content"][0]["text"].as_str().unwrap().starts_with("hello"),
        "{result}"
    );
    let swap = || {
        fs::remove_file(instance.workspace().join("new.txt")).unwrap();
        symlink("one/data.txt", instance.workspace().join("new.txt")).unwrap();
    };
    let (_, result) =
        call(&mut wire, "read_file", &json!({"path": "new.txt"}), &json!({"answer": "once"}), swap);
    assert_eq!(result["structuredContent"]["code"], "not_approved", "{result}");
    let (asked, _) = call(&mut wire, "list_dir", &json!({}), &json!({"answer": "no"}), || {});
    assert_eq!(asked, None, "the control: a tool that is not named");
    let (asked, result) = call(
        &mut wire,
        "web_fetch",
        &json!({"url": "http://127.0.0.1:9/"}),
        &json!({"answer": "once"}),
        || {},
    );
    assert_eq!(asked, None, "what the policy refuses is not asked about: {result}");
    let alone = instance.tool("write_file", &write.to_string());
    assert_eq!(
        (alone.code, alone.stdout.lines().next()),
        (3, Some("tool \"write_file\" needs approval")),
        "{alone:?}"
    );
    let wrong = TestInstance::with_config(r#"{"tools": {"ask": ["write_fil"]}}"#);
    let ran = wrong.run(&["config", "check"]);
    assert!(
        ran.code == 2 && (ran.stdout + &ran.stderr).contains("write_file"),
        "a misspelt tool is an error"
    );
}
