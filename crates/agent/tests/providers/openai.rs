//! Chat completions: what goes out, and what comes back whole and in pieces.

use crate::peer::{Act, Peer, events};
use crate::support::{ask, hello, models, request};
use picoclaw_agent::message::{Message, Role, ToolCall};
use picoclaw_agent::providers::{Answer, Finish, Usage};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";

fn entry(peer: &Peer, more: Value) -> Value {
    let mut entry = json!({"model_name": "m", "model": "openai/gpt-4o", "api_base": format!("{}/v1", peer.base),
        "api_keys": ["sk-secret-key-1"], "request_timeout": 5});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

fn whole(message: Value, reason: &str) -> String {
    json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3}, "system_fingerprint": null})
    .to_string()
}

#[tokio::test]
async fn a_request_says_everything_that_a_server_needs() {
    let peer = Peer::new(vec![Act::Reply(200, JSON, whole(json!({"content": "hi"}), "stop"))]).await;
    let more = json!({
        "extra_body": {"top_p": 0.5, "tool_choice": "none"},
        "custom_headers": {"X-Team": "blue"}, "user_agent": "me/1"});
    let history = vec![
        Message::text(Role::System, "be kind"),
        Message::text(Role::User, "list"),
        Message {
            tool_calls: vec![call("c 1", "exec", r#"{"command":"ls"}"#), call("c2", "made up", r#"{"half"#)],
            reasoning_content: Some("hm".into()),
            ..Message::text(Role::Assistant, "")
        },
        Message::result("c 1", "a.txt"),
    ];
    let mut asked = request(history);
    asked.temperature = Some(0.25);
    ask(&models(&json!([entry(&peer, more)])), &asked).await.answer();
    let seen = &peer.seen()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions");
    assert_eq!(seen.header("authorization"), "Bearer sk-secret-key-1");
    assert_eq!(seen.header("x-team"), "blue");
    assert_eq!(seen.header("user-agent"), "me/1");
    let want = json!({
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "list"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c_1", "type": "function", "function": {"name": "exec", "arguments": "{\"command\":\"ls\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "made_up", "arguments": "{\"raw\":\"{\\\"half\"}"}}],
             "reasoning_content": "hm"},
            {"role": "tool", "content": "a.txt", "tool_call_id": "c_1"}],
        "tools": [{"type": "function", "function": {"name": "exec", "description": "runs",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}],
        "tool_choice": "none", "max_tokens": 100, "temperature": 0.25, "top_p": 0.5});
    assert_eq!(seen.body, want);
}

#[tokio::test]
async fn a_whole_answer_is_read_with_tolerance() {
    let exec = |arguments: Value| {
        json!({"content": null, "tool_calls": [{"id": "c1", "type": "function", "index": 0, "extra": 1,
            "function": {"name": "exec", "arguments": arguments, "strict": true}}], "annotations": []})
    };
    let calls = |arguments: &str| vec![call("c1", "exec", arguments)];
    for (why, message, reason, want) in [
        ("text", json!({"content": "hi"}), "stop", Answer { content: "hi".into(), ..Answer::default() }),
        (
            "text in parts",
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "stop",
            Answer { content: "ab".into(), ..Answer::default() },
        ),
        (
            "arguments as text",
            exec(json!("{\"command\":\"ls\"}")),
            "tool_calls",
            Answer {
                tool_calls: calls("{\"command\":\"ls\"}"),
                finish: Finish::ToolCalls,
                ..Answer::default()
            },
        ),
        (
            "arguments as an object",
            exec(json!({"command": "ls"})),
            "tool_calls",
            Answer {
                tool_calls: calls("{\"command\":\"ls\"}"),
                finish: Finish::ToolCalls,
                ..Answer::default()
            },
        ),
        (
            "a call that says stop",
            exec(json!("{}")),
            "stop",
            Answer { tool_calls: calls("{}"), finish: Finish::ToolCalls, ..Answer::default() },
        ),
        (
            "half a call, cut at its length, is no call",
            exec(json!("{\"command\":\"rm")),
            "length",
            Answer { finish: Finish::Length, ..Answer::default() },
        ),
        (
            "thoughts",
            json!({"content": "hi", "reasoning_content": "hm"}),
            "stop",
            Answer { content: "hi".into(), reasoning: Some("hm".into()), ..Answer::default() },
        ),
        (
            "a reason of its own",
            json!({"content": "hi"}),
            "content_filter",
            Answer {
                content: "hi".into(),
                finish: Finish::Other("content_filter".into()),
                ..Answer::default()
            },
        ),
    ] {
        let peer = Peer::new(vec![Act::Reply(200, JSON, whole(message, reason))]).await;
        let heard = ask(&models(&json!([entry(&peer, json!({}))])), &hello()).await;
        assert_eq!(*heard.answer(), Answer { usage: Usage { input: 7, output: 3 }, ..want }, "{why}");
        assert!(heard.pieces.is_empty(), "{why}: nothing streams");
    }
}

#[tokio::test]
async fn an_answer_in_pieces_is_put_together() {
    let piece =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string();
    let end =
        |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string();
    let tool = |call: Value| piece(json!({"tool_calls": [call]}));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).to_string();
    let args = |text: &str| json!({"index": 0, "function": {"arguments": text}});
    let rows: Vec<(&str, Vec<String>, &str, Vec<ToolCall>)> = vec![
        (
            "text",
            vec![
                piece(json!({"role": "assistant", "content": ""})),
                piece(json!({"content": "he"})),
                piece(json!({"content": "llo"})),
                end("stop"),
            ],
            "hello",
            vec![],
        ),
        (
            "a call in pieces",
            vec![
                tool(
                    json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "exec", "arguments": ""}}),
                ),
                tool(args("{\"com")),
                tool(args("mand\":\"ls\"}")),
                end("tool_calls"),
            ],
            "",
            vec![call("c1", "exec", "{\"command\":\"ls\"}")],
        ),
        (
            "two calls whose pieces alternate",
            vec![
                tool(json!({"index": 0, "id": "a", "function": {"name": "exec", "arguments": "{"}})),
                tool(json!({"index": 1, "id": "b", "function": {"name": "read", "arguments": "{"}})),
                tool(json!({"index": 1, "function": {"arguments": "}"}})),
                tool(json!({"index": 0, "function": {"arguments": "}"}})),
                end("tool_calls"),
            ],
            "",
            vec![call("a", "exec", "{}"), call("b", "read", "{}")],
        ),
        (
            "whole calls that share an index",
            vec![
                tool(json!({"index": 0, "id": "a", "function": {"name": "exec", "arguments": "{}"}})),
                tool(
                    json!({"index": 0, "id": "b", "function": {"name": "exec", "arguments": {"command": "ls"}}}),
                ),
                end("stop"),
            ],
            "",
            vec![call("a", "exec", "{}"), call("b", "exec", "{\"command\":\"ls\"}")],
        ),
        (
            "no index at all",
            vec![
                tool(json!({"id": "a", "function": {"name": "exec", "arguments": "{"}})),
                tool(json!({"function": {"arguments": "}"}})),
                tool(json!({"id": "b", "function": {"name": "exec"}})),
                end("tool_calls"),
            ],
            "",
            vec![call("a", "exec", "{}"), call("b", "exec", "{}")],
        ),
        (
            "a call cut at its length is not run",
            vec![
                tool(json!({"index": 0, "id": "a", "function": {"name": "exec", "arguments": "{\"c"}})),
                end("length"),
            ],
            "",
            vec![],
        ),
    ];
    for (why, pieces, text, calls) in rows {
        let mut data: Vec<&str> = pieces.iter().map(String::as_str).collect();
        data.extend([usage.as_str(), "[DONE]"]);
        let mut packets = vec![": a comment\r\n\r\n".to_owned()];
        packets.extend(events(&data));
        let peer = Peer::new(vec![Act::Stream(packets)]).await;
        let heard =
            ask(&models(&json!([entry(&peer, json!({"streaming": {"enabled": true}}))])), &hello()).await;
        let answer = heard.answer();
        assert_eq!((answer.content.as_str(), &answer.tool_calls), (text, &calls), "{why}");
        assert_eq!(answer.usage, Usage { input: 7, output: 3 }, "{why}");
        assert_eq!(heard.pieces.concat(), text, "{why}: heard as it came");
        let body = &peer.seen()[0].body;
        assert_eq!(
            (&body["stream"], &body["stream_options"]["include_usage"]),
            (&json!(true), &json!(true)),
            "{why}"
        );
    }
}

#[tokio::test]
async fn keys_are_tried_in_turn() {
    let peer = Peer::new(vec![
        Act::Reply(429, JSON, r#"{"error":{"message":"slow down"}}"#.into()),
        Act::Reply(200, JSON, whole(json!({"content": "hi"}), "stop")),
    ])
    .await;
    let list = json!([entry(&peer, json!({"api_keys": ["sk-one-1111", "sk-two-2222"]}))]);
    let heard = ask(&models(&list), &hello()).await;
    assert_eq!(heard.answer().content, "hi");
    let keys: Vec<_> = peer.seen().iter().map(|seen| seen.header("authorization").to_owned()).collect();
    assert_eq!(keys, ["Bearer sk-one-1111", "Bearer sk-two-2222"]);
    assert_eq!(heard.retries[0].model, "m (key 1)");
}

#[tokio::test]
async fn a_proxy_of_the_entry_is_used_and_no_other() {
    let body = whole(json!({"content": "by proxy"}), "stop");
    let proxy = Peer::new(vec![Act::Reply(200, JSON, body)]).await;
    let list = json!([{"model_name": "m", "model": "x", "provider": "openai", "proxy": proxy.base,
        "api_base": "http://model.invalid/v1"}]);
    assert_eq!(ask(&models(&list), &hello()).await.answer().content, "by proxy");
    assert_eq!(proxy.seen()[0].line, "POST http://model.invalid/v1/chat/completions");
}
