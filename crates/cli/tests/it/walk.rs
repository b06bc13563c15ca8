//! The walk: every call, allowed or not, leaves its records, and nothing else does.

use crate::test_instance::TestInstance;
use serde_json::Value;

#[test]
fn every_call_leaves_one_decided_and_one_finished_record() {
    let instance = TestInstance::with_config(r#"{"tools": {"exec": {"guard": "smart"}}}"#);
    let calls: &[(&str, &str, i32, &str, Option<&str>)] = &[
        ("write_file", r#"{"path": "a.txt", "content": "one two"}"#, 0, "allow", None),
        ("append_file", r#"{"path": "a.txt", "content": "!"}"#, 0, "allow", None),
        ("edit_file", r#"{"path": "a.txt", "old_text": "two", "new_text": "2"}"#, 0, "allow", None),
        ("read_file", r#"{"path": "a.txt"}"#, 0, "allow", None),
        ("list_dir", "{}", 0, "allow", None),
        ("exec", r#"{"command": "echo hi"}"#, 0, "allow", None),
        ("exec", r#"{"command": "exit 7"}"#, 1, "allow", None),
        ("read_file", r#"{"path": "missing"}"#, 1, "allow", None),
        ("read_file", r#"{"path": "/etc/passwd"}"#, 1, "deny", Some("outside_workspace")),
        ("read_file", r#"{"path": "../config.json"}"#, 1, "deny", Some("protected")),
        ("read_file", r#"{"nonsense": 1}"#, 1, "deny", Some("invalid_arguments")),
        ("exec", r#"{"command": "rm -rf /"}"#, 1, "deny", Some("dangerous_command")),
        ("exec", r#"{"command": "cat /etc/passwd"}"#, 1, "deny", Some("command_path_outside")),
        ("exec", r#"{"command": "echo (("}"#, 1, "deny", Some("command_not_understood")),
        ("exec", r#"{"command": "pwd", "cwd": "/etc"}"#, 1, "deny", Some("command_path_outside")),
        ("web_fetch", r#"{"url": "http://127.0.0.1/"}"#, 1, "deny", Some("host_not_allowed")),
        ("web_fetch", r#"{"url": "file:///etc/passwd"}"#, 1, "deny", Some("url_not_allowed")),
        ("exec", r#"{"action": "poll", "sessionId": "nobody's"}"#, 1, "deny", Some("invalid_arguments")),
    ];
    for (tool, json, exit, ..) in calls {
        let ran = instance.tool(tool, json);
        assert_eq!(ran.code, *exit, "{tool} {json}: {ran:?}");
    }
    let records = instance.records();
    assert_eq!(records.len(), 2 * calls.len());
    for (pair, (tool, json, _, verdict, code)) in records.chunks(2).zip(calls) {
        assert_eq!(
            (&pair[0]["phase"], &pair[1]["phase"]),
            (&Value::from("decided"), &Value::from("finished")),
            "{json}"
        );
        for record in pair {
            assert_eq!(record["tool"], *tool, "{json}");
            assert_eq!(record["origin"], "tool");
            assert_eq!(record["agent"], "main");
            assert_eq!(record["verdict"], *verdict, "{json}");
            assert_eq!(record["code"], code.map_or(Value::Null, Value::from), "{json}");
        }
    }
    assert_eq!(records[13]["outcome"], "exit 7");
    let verify = instance.run(&["audit", "verify"]);
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(verify.stdout.contains("intact"), "{verify:?}");
}

#[test]
fn looking_and_asking_leave_no_record() {
    let instance = TestInstance::with_config("{}");
    assert_eq!(instance.tool("list_dir", "{}").code, 0);
    let before = instance.records().len();
    for (arguments, exit) in [
        (&["check", "read", "a.txt"][..], 0),
        (&["check", "read", "/etc/passwd"], 1),
        (&["check", "write", "../config.json"], 1),
        (&["check", "exec", "ls -la"], 0),
        (&["check", "exec", "sudo ls"], 1),
        (&["status"], 0),
        (&["config", "show"], 0),
    ] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, exit, "{arguments:?}: {ran:?}");
    }
    assert_eq!(instance.records().len(), before);
}

#[test]
fn without_a_ledger_nothing_is_permitted() {
    let instance = TestInstance::with_config("{}");
    assert_eq!(instance.tool("write_file", r#"{"path": "a.txt", "content": "x"}"#).code, 0);
    // A file where the ledger's directory belongs: it cannot be written, not even by root.
    std::fs::remove_dir_all(instance.home().join("ledger")).unwrap();
    std::fs::write(instance.home().join("ledger"), "").unwrap();
    for (tool, json) in [
        ("read_file", r#"{"path": "a.txt"}"#),
        ("write_file", r#"{"path": "b.txt", "content": "x"}"#),
        ("exec", r#"{"command": "touch c.txt"}"#),
    ] {
        let ran = instance.tool(tool, json);
        assert_eq!(ran.code, 1, "{tool}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("ledger"), "{tool}: {ran:?}");
    }
    assert!(!instance.workspace().join("b.txt").exists() && !instance.workspace().join("c.txt").exists());
}

#[test]
fn configured_secrets_reach_neither_ledger_nor_log_nor_child() {
    let instance = TestInstance::with_config(
        r#"{"version": 3, "model_list": [{"model_name": "m", "model": "x", "api_keys": ["sk-verysecret-123"]}], "tools": {"exec": {"guard": "smart"}}}"#,
    );
    let ran = instance.run_with(
        &["tool", "exec", r#"{"command": "echo sk-verysecret-123; printenv"}"#],
        &[
            ("PICOCLAW_LOG_LEVEL", "debug"),
            ("OPENAI_API_KEY", "sk-other"),
            ("BANNER", "sk-verysecret-123"),
            ("PLAIN", "kept"),
        ],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("PLAIN=kept"), "{ran:?}");
    assert!(!ran.stdout.contains("sk-other") && !ran.stdout.contains("BANNER"), "{ran:?}");
    let everything = format!("{}{}{:?}", ran.stdout, ran.stderr, instance.records());
    assert!(!everything.contains("sk-verysecret-123"), "{everything}");
    assert!(everything.contains("[FILTERED]"), "{everything}");
}
