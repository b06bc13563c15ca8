//! The messages interface: what goes out, and what comes back whole and in pieces.

use crate::peer::{Act, Peer, events};
use crate::support::{ask, hello, models, request};
use picoclaw_agent::message::{Message, ToolCall};
use picoclaw_agent::providers::{ErrorClass, Finish, Usage};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";

fn entry(peer: &Peer, more: Value) -> Value {
    let mut entry = json!({"model_name": "c", "model": "anthropic-messages/claude-x", "api_base": peer.base,
        "api_keys": ["sk-ant-secret"], "request_timeout": 5});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

fn whole(content: Value, reason: &str) -> String {
    json!({"type": "message", "role": "assistant", "content": content, "stop_reason": reason,
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3}})
    .to_string()
}

#[tokio::test]
async fn a_session_from_disk_goes_out_with_its_calls() {
    let peer =
        Peer::new(vec![Act::Reply(200, JSON, whole(json!([{"type": "text", "text": "hi"}]), "end_turn"))])
            .await;
    // As a session keeps it: the calls stand in the nested form.
    let lines = [
        json!({"role": "system", "content": "be kind"}),
        json!({"role": "user", "content": "list"}),
        json!({"role": "assistant", "content": "so \n", "tool_calls": [
            {"id": "c.1", "type": "function", "function": {"name": "exec", "arguments": "{\"command\":\"ls\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "exec", "arguments": "{\"half"}}]}),
        json!({"role": "tool", "content": "a.txt", "tool_call_id": "c.1"}),
        json!({"role": "tool", "content": "no", "tool_call_id": "c2"}),
        json!({"role": "user", "content": "and now?"}),
        json!({"role": "assistant", "content": ""}),
        json!({"role": "system", "content": "be brief"}),
    ];
    let history: Vec<Message> = lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    ask(&models(&json!([entry(&peer, json!({}))])), &request(history)).await.answer();
    let seen = &peer.seen()[0];
    assert_eq!(seen.line, "POST /v1/messages");
    assert_eq!((seen.header("x-api-key"), seen.header("anthropic-version")), ("sk-ant-secret", "2023-06-01"));
    assert_eq!(seen.header("authorization"), "", "one kind of key is enough");
    let want = json!({
        "model": "claude-x", "max_tokens": 100, "system": "be kind\n\nbe brief",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "list"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "so"},
                {"type": "tool_use", "id": "c_1", "name": "exec", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "c2", "name": "exec", "input": {"raw": "{\"half"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": "a.txt"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no"},
                {"type": "text", "text": "and now?"}]}],
        "tools": [{"name": "exec", "description": "runs",
            "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}]});
    assert_eq!(seen.body, want);
}

#[tokio::test]
async fn the_plain_name_and_an_address_with_its_version_mean_the_same() {
    for (why, provider, suffix, more, header) in [
        ("the plain name", "anthropic", "", json!({}), ("x-api-key", "sk-ant-secret")),
        ("a version in the address", "anthropic", "/v1", json!({}), ("x-api-key", "sk-ant-secret")),
        (
            "a token",
            "anthropic",
            "/",
            json!({"auth_method": "token"}),
            ("authorization", "Bearer sk-ant-secret"),
        ),
    ] {
        let peer = Peer::new(vec![Act::Reply(200, JSON, whole(json!([]), "end_turn"))]).await;
        let mut entry = entry(&peer, more);
        entry["model"] = json!(format!("{provider}/claude-x"));
        entry["api_base"] = json!(format!("{}{suffix}", peer.base));
        ask(&models(&json!([entry])), &hello()).await.answer();
        let seen = &peer.seen()[0];
        assert_eq!((seen.line.as_str(), seen.header(header.0)), ("POST /v1/messages", header.1), "{why}");
    }
}

#[tokio::test]
async fn a_whole_answer_is_read_with_tolerance() {
    let tool =
        json!({"type": "tool_use", "id": "t1", "name": "exec", "input": {"command": "ls"}, "extra": 1});
    for (why, content, reason, text, finish, calls) in [
        ("text", json!([{"type": "text", "text": "hi"}]), "end_turn", "hi", Finish::Stop, vec![]),
        (
            "thoughts and kinds to come",
            json!([{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "redacted_thinking", "data": "x"},
                {"type": "server_tool_use", "id": "x"}, {"type": "text", "text": "hi"}]),
            "end_turn",
            "hi",
            Finish::Stop,
            vec![],
        ),
        (
            "a call",
            json!([{"type": "text", "text": "so"}, tool]),
            "tool_use",
            "so",
            Finish::ToolCalls,
            vec![call("t1", "exec", r#"{"command":"ls"}"#)],
        ),
        ("a call cut at its length", json!([tool]), "max_tokens", "", Finish::Length, vec![]),
        ("a refusal", json!([]), "refusal", "", Finish::Other("refusal".into()), vec![]),
    ] {
        let peer = Peer::new(vec![Act::Reply(200, JSON, whole(content, reason))]).await;
        let heard = ask(&models(&json!([entry(&peer, json!({}))])), &hello()).await;
        let answer = heard.answer();
        assert_eq!(
            (answer.content.as_str(), &answer.finish, &answer.tool_calls),
            (text, &finish, &calls),
            "{why}"
        );
        assert_eq!(answer.usage, Usage { input: 7, output: 3 }, "{why}");
    }
}

#[tokio::test]
async fn an_answer_in_pieces_is_put_together() {
    let start =
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}})
            .to_string();
    let begin = |index: u64, block: Value| {
        json!({"type": "content_block_start", "index": index, "content_block": block}).to_string()
    };
    let delta = |index: u64, delta: Value| {
        json!({"type": "content_block_delta", "index": index, "delta": delta}).to_string()
    };
    let close = |index: u64| json!({"type": "content_block_stop", "index": index}).to_string();
    let end = |reason: &str| {
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})
            .to_string()
    };
    let stop = json!({"type": "message_stop"}).to_string();
    let json_piece = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "exec", "input": {}});
    let pieces = vec![
        start.clone(),
        json!({"type": "ping"}).to_string(),
        begin(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "x"})),
        close(0),
        begin(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "he"})),
        delta(1, json!({"type": "text_delta", "text": "llo"})),
        close(1),
        begin(2, tool("t1")),
        delta(2, json_piece("")),
        delta(2, json_piece("{\"com")),
        delta(2, json_piece("mand\":\"ls\"}")),
        close(2),
        begin(3, tool("t2")),
        close(3),
        end("tool_use"),
        stop.clone(),
    ];
    let streaming = json!({"streaming": {"enabled": true}});
    let data: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let peer = Peer::new(vec![Act::Stream(events(&data))]).await;
    let heard = ask(&models(&json!([entry(&peer, streaming.clone())])), &hello()).await;
    let answer = heard.answer();
    assert_eq!((answer.content.as_str(), answer.reasoning.as_deref()), ("hello", Some("hm")));
    assert_eq!(answer.tool_calls, [call("t1", "exec", "{\"command\":\"ls\"}"), call("t2", "exec", "{}")]);
    assert_eq!((answer.usage, &answer.finish), (Usage { input: 7, output: 3 }, &Finish::ToolCalls));
    assert_eq!(heard.pieces, ["he", "llo"]);
    assert_eq!(peer.seen()[0].body["stream"], json!(true));

    for (why, pieces, class) in [
        (
            "a call that was not closed is not run",
            vec![begin(0, tool("t1")), delta(0, json_piece("{}")), end("tool_use"), stop.clone()],
            ErrorClass::Malformed,
        ),
        (
            "a stream that does not say why it stops",
            vec![begin(0, tool("t1")), close(0), stop.clone()],
            ErrorClass::Malformed,
        ),
        (
            "an error in the middle",
            vec![
                start,
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
                    .to_string(),
            ],
            ErrorClass::RateLimit,
        ),
    ] {
        let data: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let unwell = Act::Reply(401, JSON, "{}".into());
        let peer = Peer::new(vec![Act::Stream(events(&data)), unwell]).await;
        let mut list = json!([entry(&peer, streaming.clone())]);
        list[0]["request_timeout"] = json!(2);
        let config =
            json!({"agents": {"defaults": {"model_name": "c", "max_llm_retries": 0}}, "model_list": list});
        let models = picoclaw_agent::providers::Models::new(&crate::support::config(&config));
        assert_eq!(ask(&models, &hello()).await.error().class, class, "{why}");
    }
}
