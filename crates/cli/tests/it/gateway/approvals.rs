//! Questions that wait for a person, over HTTP.

use super::client::{Answer, Gateway};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::thread::JoinHandle;

const ASKING: &str = r#"{
  "version": 3,
  "heartbeat": {"enabled": false},
  "agents": {"defaults": {"max_parallel_turns": 8}},
  "tools": {"exec": {"on_block": "ask", "custom_deny_patterns": ["^touch "]}}
}"#;

/// One turn at a time, as it is by default.
const ONE_LANE: &str = r#"{
  "version": 3,
  "heartbeat": {"enabled": false},
  "tools": {"exec": {"on_block": "ask", "custom_deny_patterns": ["^touch "]}}
}"#;

fn ask<'s>(
    scope: &'s std::thread::Scope<'s, '_>,
    gateway: &'s Gateway,
    command: &'static str,
) -> std::thread::ScopedJoinHandle<'s, Answer> {
    scope.spawn(move || {
        gateway.post(
            "/v1/chat/completions",
            &json!({"model": "main", "messages": [{"role": "user", "content": command}]}),
        )
    })
}

fn waiting(gateway: &Gateway) -> Value {
    wait_for("no question came", || {
        let items = gateway.get("/api/approvals").json()["items"].clone();
        items.get(0).cloned()
    })
}

#[test]
fn a_yes_runs_what_was_shown_and_is_recorded_with_who_said_it() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::approving(&instance);
    std::thread::scope(|scope| {
        let turn = ask(scope, &gateway, "touch yes.txt");
        let item = waiting(&gateway);
        for field in ["id", "hash", "agent", "tool", "text", "asked_at", "expires_at"] {
            assert!(item[field].is_string(), "`{field}` in {item}");
        }
        assert!(item["text"].as_str().unwrap().contains("touch yes.txt"), "{item}");
        assert_eq!((&item["agent"], &item["tool"]), (&json!("main"), &json!("exec")));
        let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
        assert!(!instance.workspace().join("yes.txt").exists(), "nothing happens before the answer");
        for (why, body, want) in [
            ("another content's hash", json!({"hash": "0".repeat(64), "answer": "once"}), 409),
            ("no hash", json!({"answer": "once"}), 400),
            ("no such answer", json!({"hash": item["hash"], "answer": "yes"}), 400),
            (
                "more than an answer",
                json!({"hash": item["hash"], "answer": "once", "by": "somebody else"}),
                400,
            ),
        ] {
            let answer = gateway.post(&path, &body);
            assert_eq!(answer.status, want, "{why}: {answer:?}");
        }
        assert_eq!(
            gateway.post("/api/approvals/999", &json!({"hash": item["hash"], "answer": "once"})).status,
            404
        );
        assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": "once"})).status, 200);
        assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": "once"})).status, 404, "once");
        assert_eq!(turn.join().unwrap().status, 200);
    });
    assert!(instance.workspace().join("yes.txt").exists());
    let records = serde_json::to_string(&instance.records()).unwrap();
    assert!(records.contains("approved by operator"), "{records}");
    assert!(instance.records().iter().any(|one| one["principal"] == "operator"), "{records}");
}

#[test]
fn a_no_is_a_refusal() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::approving(&instance);
    std::thread::scope(|scope| {
        let turn = ask(scope, &gateway, "touch no.txt");
        let item = waiting(&gateway);
        let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
        assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": "no"})).status, 200);
        let told = turn.join().unwrap().json();
        let text = told["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.starts_with("Command blocked by safety guard"), "{text}");
    });
    assert!(!instance.workspace().join("no.txt").exists());
    assert_eq!(gateway.get("/api/approvals").json(), json!({"items": []}));
}

#[test]
fn the_whole_act_is_listed_and_a_no_can_say_why() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::approving(&instance);
    let call = r#"exec {"command": "touch in.txt", "cwd": "sub", "timeout": 7}"#;
    std::fs::create_dir_all(instance.workspace().join("sub")).unwrap();
    let told = std::thread::scope(|scope| {
        let turn = ask(scope, &gateway, call);
        let item = waiting(&gateway);
        let dir = instance.workspace().canonicalize().unwrap().join("sub");
        let arguments = json!({"command": "touch in.txt", "cwd": "sub", "timeout": 7});
        assert_eq!(item["arguments"], arguments, "{item}");
        assert_eq!(item["cwd"], dir.to_str().unwrap(), "{item}");
        assert_eq!((&item["background"], &item["timeout_seconds"]), (&json!(false), &json!(7)), "{item}");
        assert!(item["session"].as_str().is_some_and(|name| name.starts_with("http:")), "{item}");
        let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
        let no = json!({"hash": item["hash"], "answer": "no", "reason": "use the other file"});
        assert_eq!(gateway.post(&path, &no).status, 200);
        turn.join().unwrap().json()
    });
    assert!(
        told["choices"][0]["message"]["content"].as_str().unwrap().contains("use the other file"),
        "{told}"
    );
}

#[test]
fn always_holds_in_every_session_until_it_is_revoked() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::approving(&instance);
    let file = instance.workspace().join("kept.txt");
    let answer = |word: &str| {
        std::thread::scope(|scope| {
            let turn = ask(scope, &gateway, "touch kept.txt");
            let item = waiting(&gateway);
            let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
            assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": word})).status, 200);
            assert_eq!(turn.join().unwrap().status, 200);
        });
    };
    answer("always");
    std::fs::remove_file(&file).unwrap();
    std::thread::scope(|scope| {
        // Each of these requests has a session of its own.
        assert_eq!(ask(scope, &gateway, "touch kept.txt").join().unwrap().status, 200);
    });
    assert!(file.exists(), "not asked again");
    std::fs::remove_file(&file).unwrap();
    let listed: Value = serde_json::from_str(&instance.run(&["approvals", "list", "--json"]).stdout).unwrap();
    assert_eq!((&listed[0]["by"], &listed[0]["text"]), (&json!("operator"), &json!("touch kept.txt")));
    assert_eq!(instance.run(&["approvals", "revoke", listed[0]["id"].as_str().unwrap()]).code, 0);
    answer("no");
    assert!(!file.exists(), "revoked while the gateway runs");
}

#[test]
fn silence_is_a_no_and_so_is_the_end() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::approving(&instance);
    let lines = gateway.open(
        "POST /v1/chat/completions",
        &json!({"model": "main", "messages": [{"role": "user", "content": "touch end.txt"}]}).to_string(),
    );
    let reading: JoinHandle<Vec<String>> = std::thread::spawn(move || lines.collect());
    let item = waiting(&gateway);
    let span = |field: &str| item[field].as_str().unwrap()[14..19].to_owned();
    assert_ne!(span("asked_at"), span("expires_at"), "a minute lies between: {item}");
    let (status, took, _) = gateway.end();
    assert!(status.success(), "{status:?}");
    assert!(took.as_secs() < 15, "{took:?}");
    assert!(!instance.workspace().join("end.txt").exists());
    drop(reading.join().unwrap());
}

#[test]
fn an_open_question_keeps_no_other_session_waiting() {
    let instance = TestInstance::with_config(ONE_LANE);
    let gateway = Gateway::approving(&instance);
    for (why, command, file) in [
        ("the turn itself asks", "touch own.txt", "own.txt"),
        ("its subagent asks", r#"subagent {"task": "touch below.txt"}"#, "below.txt"),
    ] {
        std::thread::scope(|scope| {
            let turn = ask(scope, &gateway, command);
            let item = waiting(&gateway);
            // Were the lane still taken, this would wait for the question's minute.
            let other = ask(scope, &gateway, "echo meanwhile").join().unwrap();
            assert_eq!(other.json()["choices"][0]["message"]["content"], "meanwhile\n", "{why}");
            assert_eq!(waiting(&gateway)["id"], item["id"], "{why}: the question is still open");
            let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
            assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": "once"})).status, 200);
            assert_eq!(turn.join().unwrap().status, 200, "{why}");
        });
        assert!(instance.workspace().join(file).exists(), "{why}: it goes on after the answer");
    }
    // One lane is still one lane: of two turns that only work, the second begins when the first has ended.
    std::thread::scope(|scope| {
        let first = ask(scope, &gateway, "sleep 1; date +%s%N > first.end");
        wait_for("the first turn never began", || {
            instance
                .records()
                .iter()
                .any(|record| record["intent"].as_str().is_some_and(|i| i.contains("first.end")))
                .then_some(())
        });
        let second = ask(scope, &gateway, "date +%s%N > second.begin");
        assert_eq!((first.join().unwrap().status, second.join().unwrap().status), (200, 200));
    });
    let at = |name: &str| {
        std::fs::read_to_string(instance.workspace().join(name)).unwrap().trim().parse::<u128>().unwrap()
    };
    assert!(at("first.end") <= at("second.begin"));
}

#[test]
fn a_yes_for_a_session_holds_until_the_rules_are_replaced() {
    let instance = TestInstance::with_config(ONE_LANE);
    let gateway = Gateway::approving(&instance);
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str()), ("X-Picoclaw-Session", "work")];
    let body =
        json!({"model": "main", "messages": [{"role": "user", "content": "touch again.txt"}]}).to_string();
    let turn = |answer: &str| {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| gateway.send("POST /v1/chat/completions", &headers, &body).status);
            let item = waiting(&gateway);
            let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
            assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": answer})).status, 200);
            assert_eq!(asked.join().unwrap(), 200);
        });
    };
    turn("session");
    let path = instance.workspace().join("again.txt");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(gateway.send("POST /v1/chat/completions", &headers, &body).status, 200);
    assert!(path.exists(), "the same content in the same session is not asked again");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(gateway.post("/reload", &json!({})).status, 200);
    turn("no");
    assert!(!path.exists(), "new rules, new question");
}
