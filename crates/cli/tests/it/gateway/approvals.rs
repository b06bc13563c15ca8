//! Questions that wait for a person, over HTTP.

use super::client::{Answer, Gateway, eventually};
use crate::house::House;
use serde_json::{Value, json};
use std::thread::JoinHandle;

const ASKING: &str = r#"{
  "version": 3,
  "heartbeat": {"enabled": false},
  "agents": {"defaults": {"max_parallel_turns": 8}},
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
    eventually("no question came", || {
        let items = gateway.get("/api/approvals").json()["items"].clone();
        items.get(0).cloned()
    })
}

#[test]
fn a_yes_runs_what_was_shown_and_is_recorded_with_who_said_it() {
    let house = House::with_config(ASKING);
    let gateway = Gateway::new(&house);
    std::thread::scope(|scope| {
        let turn = ask(scope, &gateway, "touch yes.txt");
        let item = waiting(&gateway);
        for field in ["id", "hash", "agent", "tool", "text", "asked_at", "expires_at"] {
            assert!(item[field].is_string(), "`{field}` in {item}");
        }
        assert!(item["text"].as_str().unwrap().contains("touch yes.txt"), "{item}");
        assert_eq!((&item["agent"], &item["tool"]), (&json!("main"), &json!("exec")));
        let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
        assert!(!house.workspace().join("yes.txt").exists(), "nothing happens before the answer");
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
    assert!(house.workspace().join("yes.txt").exists());
    let records = serde_json::to_string(&house.records()).unwrap();
    assert!(records.contains("gateway's token, from 127.0.0.1"), "{records}");
}

#[test]
fn a_no_is_a_refusal() {
    let house = House::with_config(ASKING);
    let gateway = Gateway::new(&house);
    std::thread::scope(|scope| {
        let turn = ask(scope, &gateway, "touch no.txt");
        let item = waiting(&gateway);
        let path = format!("/api/approvals/{}", item["id"].as_str().unwrap());
        assert_eq!(gateway.post(&path, &json!({"hash": item["hash"], "answer": "no"})).status, 200);
        let told = turn.join().unwrap().json();
        let text = told["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.starts_with("Command blocked by safety guard"), "{text}");
    });
    assert!(!house.workspace().join("no.txt").exists());
    assert_eq!(gateway.get("/api/approvals").json(), json!({"items": []}));
}

#[test]
fn silence_is_a_no_and_so_is_the_end() {
    let house = House::with_config(ASKING);
    let gateway = Gateway::new(&house);
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
    assert!(!house.workspace().join("end.txt").exists());
    drop(reading.join().unwrap());
}
