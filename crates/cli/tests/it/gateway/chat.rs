//! Chats: each agent is a model, whole or in pieces.

use super::client::{DIRECT, Gateway, SCRIPTED};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::fs;

fn said(text: &str) -> Value {
    json!({"model": "main", "messages": [{"role": "user", "content": text}]})
}

fn script(instance: &TestInstance, lines: &[Value]) {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(instance.dir().join("replies.jsonl"), text.join("\n")).unwrap();
}

#[test]
fn each_agent_is_a_model() {
    let instance = TestInstance::with_config(
        r#"{"version": 3, "heartbeat": {"enabled": false}, "agents": {"agents": [{"id": "main", "default": true}, {"id": "coder"}]}}"#,
    );
    let gateway = Gateway::new(&instance);
    let listed = gateway.get("/v1/models").json();
    assert_eq!(listed["object"], "list");
    let ids: Vec<&str> =
        listed["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["main", "coder"]);
    assert_eq!(gateway.get("/v1/models/coder").json()["object"], "model");
    for answer in [
        gateway.get("/v1/models/nobody"),
        gateway.post(
            "/v1/chat/completions",
            &json!({"model": "nobody", "messages": [{"role": "user", "content": "x"}]}),
        ),
        gateway.post(
            "/v1/chat/completions",
            &json!({"model": "../main", "messages": [{"role": "user", "content": "x"}]}),
        ),
    ] {
        assert_eq!(answer.status, 404, "{answer:?}");
        assert_eq!(answer.json()["error"]["code"], "model_not_found", "{answer:?}");
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error", "{answer:?}");
    }
    let mut asked = said("pwd");
    asked["model"] = "coder".into();
    let answer = gateway.post("/v1/chat/completions", &asked).json();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.contains("workspace-coder"), "{text}");
}

#[test]
fn an_answer_is_told_as_clients_expect_it() {
    let instance = TestInstance::with_config(SCRIPTED);
    script(
        &instance,
        &[
            json!({"tool_calls": [{"name": "exec", "arguments": {"command": "echo from a tool"}}]}),
            json!({"content": "done"}),
        ],
    );
    let gateway = Gateway::new(&instance);
    let answer = gateway.post("/v1/chat/completions", &said("go"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.json();
    assert_eq!(told["object"], "chat.completion");
    assert_eq!(told["model"], "main");
    assert_eq!(
        told["choices"][0]["message"],
        json!({"role": "assistant", "content": "done", "refusal": null})
    );
    assert_eq!(told["choices"][0]["finish_reason"], "stop");
    assert!(told["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert!(told["usage"]["total_tokens"].is_u64());
    let records = instance.records();
    assert_eq!(records.len(), 2);
    assert!(
        records.iter().all(|record| record["origin"] == "http" && record["agent"] == "main"),
        "{records:?}"
    );
}

#[test]
fn an_answer_in_pieces_is_the_same_answer() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let mut asked = said("printf 'one\ntwo\n'");
    asked["stream"] = true.into();
    asked["stream_options"] = json!({"include_usage": true});
    let answer = gateway.post("/v1/chat/completions", &asked);
    assert!(answer.head.contains("text/event-stream"), "{}", answer.head);
    let events: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk" && chunk["id"] == chunks[0]["id"])
    );
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "one\ntwo\n");
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert!(chunks[chunks.len() - 1]["usage"]["total_tokens"].is_u64());
}

#[test]
fn requests_share_no_memory_unless_they_name_a_session() {
    let instance = TestInstance::with_config(SCRIPTED);
    script(&instance, &[json!({"content": "one"}), json!({"content": "two"}), json!({"content": "three"})]);
    let gateway = Gateway::new(&instance);
    assert_eq!(gateway.post("/v1/chat/completions", &said("a")).status, 200);
    assert_eq!(gateway.get("/api/sessions").json()["items"], json!([]), "nothing is kept");
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str()), ("X-Picoclaw-Session", "mine")];
    for text in ["b", "c"] {
        let answer = gateway.send("POST /v1/chat/completions", &headers, &said(text).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let items = gateway.get("/api/sessions").json()["items"].clone();
    assert_eq!(
        (&items[0]["name"], &items[0]["agent"], &items[0]["messages"]),
        (&json!("http:mine"), &json!("main"), &json!(4))
    );
    assert_eq!(items.as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_answered_is_an_error_object() {
    let instance = TestInstance::with_config(SCRIPTED);
    script(&instance, &[json!({"error": {"class": "auth", "message": "no such key"}})]);
    let gateway = Gateway::new(&instance);
    for (why, body, want) in [
        ("no JSON", "{", 400),
        ("nothing", "", 400),
        ("no messages", r#"{"model":"main"}"#, 400),
        ("no model", r#"{"messages":[{"role":"user","content":"x"}]}"#, 400),
        ("a deep one", &"[".repeat(100_000), 400),
        ("a model that fails", &said("x").to_string(), 502),
    ] {
        let bearer = gateway.bearer();
        let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
        let answer = gateway.send("POST /v1/chat/completions", &headers, body);
        assert_eq!(answer.status, want, "{why}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string(), "{why}: {answer:?}");
    }
    assert_eq!(gateway.get("/v1/embeddings").json()["error"]["type"], "invalid_request_error");
}

#[test]
fn a_client_that_hangs_up_takes_its_turn_with_it() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    for stream in [false, true] {
        let mut asked = said("sleep 600");
        asked["stream"] = stream.into();
        let lines = gateway.open("POST /v1/chat/completions", &asked.to_string());
        wait_for("the turn never began", || {
            gateway.get("/metrics").body.contains("picoclaw_turns_running 1").then_some(())
        });
        drop(lines);
        wait_for("it outlived its client", || {
            gateway.get("/metrics").body.contains("picoclaw_turns_running 0").then_some(())
        });
    }
}
