//! Peers that misbehave: a clear error each, in time, without a secret in it, and nothing half is handed on.

use crate::peer::{Act, Peer, events};
use crate::support::{Heard, ask, config, hello};
use picoclaw_agent::providers::{ErrorClass, Models};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const JSON: &str = "content-type: application/json\r\n";
const HTML: &str = "content-type: text/html\r\n";
const KEY: &str = "sk-very-secret-key";

/// Asks a peer that acts like this, without retries.
async fn against(acts: Vec<Act>, more: Value) -> (Heard, Peer) {
    let peer = Peer::new(acts).await;
    let mut entry = json!({"model_name": "m", "model": "openai/x", "api_base": peer.base, "api_keys": [KEY], "request_timeout": 1});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let defaults = json!({"model_name": "m", "max_llm_retries": 0});
    let models = Models::new(&config(&json!({"agents": {"defaults": defaults}, "model_list": [entry]})));
    (ask(&models, &hello()).await, peer)
}

fn streaming() -> Value {
    json!({"streaming": {"enabled": true}})
}

fn text(piece: &str) -> String {
    json!({"choices": [{"delta": {"content": piece}}]}).to_string()
}

fn fine() -> Act {
    let body = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]});
    Act::Reply(200, JSON, body.to_string())
}

#[tokio::test]
async fn every_bad_answer_is_a_clear_error() {
    let reply = |status, body: &str| Act::Reply(status, JSON, body.to_owned());
    let echo = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let rows: Vec<(&str, Act, ErrorClass, &str)> = vec![
        (
            "a wrong key, echoed",
            reply(401, &echo),
            ErrorClass::Auth,
            "Incorrect API key provided: [FILTERED]",
        ),
        (
            "a wrong request",
            reply(400, r#"{"error":{"message":"bad tools"}}"#),
            ErrorClass::Format,
            "Status: 400",
        ),
        (
            "too long",
            reply(400, r#"{"error":{"code":"context_length_exceeded"}}"#),
            ErrorClass::ContextOverflow,
            "Status: 400",
        ),
        (
            "an address without its version",
            reply(404, "404 page not found"),
            ErrorClass::Format,
            "hint: most servers want `api_base` to end in `/v1`",
        ),
        ("a broken server", reply(500, "oops"), ErrorClass::Timeout, "Body:   oops"),
        (
            "an error with a good status",
            reply(200, r#"{"error":{"code":402,"message":"pay"}}"#),
            ErrorClass::Billing,
            "pay",
        ),
        (
            "a page",
            Act::Reply(200, HTML, "<!DOCTYPE html><p>Log in".into()),
            ErrorClass::Malformed,
            "web page (HTML)",
        ),
        (
            "a page for an error",
            Act::Reply(503, HTML, "<html>busy".into()),
            ErrorClass::Timeout,
            "web page (HTML)",
        ),
        ("half a JSON", reply(200, r#"{"choices": [{"mess"#), ErrorClass::Malformed, "it is not JSON"),
        ("no JSON", reply(200, "hello"), ErrorClass::Malformed, "it is not JSON"),
        ("nothing", reply(200, ""), ErrorClass::Malformed, "it is empty"),
        ("JSON of another kind", reply(200, "[1,2]"), ErrorClass::Malformed, "holds no `choices`"),
        ("no choice", reply(200, r#"{"choices":[]}"#), ErrorClass::Malformed, "holds no `choices`"),
        (
            "a choice of another kind",
            reply(200, r#"{"choices":["x"]}"#),
            ErrorClass::Malformed,
            "holds no `message`",
        ),
        (
            "a call without a name",
            reply(200, r#"{"choices":[{"message":{"tool_calls":[{"id":"x"}]}}]}"#),
            ErrorClass::Malformed,
            "a tool call without a name",
        ),
        ("JSON without bottom", reply(200, &"[".repeat(100_000)), ErrorClass::Malformed, "it is not JSON"),
        ("100 MB", Act::Flood("application/json", 100 << 20), ErrorClass::Malformed, "larger than 16 MiB"),
        ("silence", Act::Silence, ErrorClass::Timeout, "gave no answer within 1 s (`request_timeout`)"),
        ("no HTTP", Act::Raw(b"SSH-2.0-OpenSSH\r\n"), ErrorClass::Network, "broke off before it answered"),
        ("a closed door", Act::Raw(b""), ErrorClass::Network, "broke off before it answered"),
        (
            "cut off in the middle",
            Act::Raw(b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{\"choices\""),
            ErrorClass::Network,
            "broke off in the middle",
        ),
        (
            "control characters in an error",
            reply(400, "{\"error\":{\"message\":\"\\u001b[31mred\\u202e\"}}"),
            ErrorClass::Format,
            "\\u{1b}[31mred\\u{202e}",
        ),
    ];
    for (why, act, class, part) in rows {
        for more in [json!({}), streaming()] {
            let is_streaming = more != json!({});
            let start = Instant::now();
            let (heard, _) = against(vec![act.clone()], more).await;
            let error = heard.error();
            assert_eq!(error.class, class, "{why}, streaming {is_streaming}: {error}");
            assert!(error.message.starts_with("LLM call failed after retries: "), "{why}: {error}");
            // Without a document, a stream has nothing to say about its shape.
            if !is_streaming {
                assert!(error.message.contains(part), "{why}: {error}");
            }
            assert!(!error.message.contains(KEY), "{why}: the key is told: {error}");
            assert!(start.elapsed() < Duration::from_secs(30), "{why}: {:?}", start.elapsed());
        }
    }
}

#[tokio::test]
async fn a_stream_that_fails_before_anything_was_seen_is_asked_for_as_a_whole() {
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "exec", "arguments": "{}"}}]}}]})
        .to_string();
    let rows: Vec<(&str, Act)> = vec![
        ("no events at all", Act::Stream(vec![])),
        ("garbage instead of events", Act::Stream(vec!["hello\n\nworld\n\n".into()])),
        ("an event that is no JSON", Act::Stream(events(&["{\"choices\": ["]))),
        ("not UTF-8", Act::Raw(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\ndata: \xff\n\n")),
        ("broken off", Act::Broken(events(&[r#"{"choices":[]}"#]))),
        ("a whole call, but no end", Act::Broken(events(&[&call]))),
        ("the same with a proper end of the connection", Act::Stream(events(&[&call]))),
        ("streams are not served", Act::Reply(400, JSON, r#"{"error":{"message":"no stream"}}"#.into())),
        ("an empty body", Act::Flood("text/event-stream", 0)),
    ];
    for (why, act) in rows {
        let (heard, peer) = against(vec![act, fine()], streaming()).await;
        assert_eq!(heard.answer().content, "whole", "{why}");
        assert!(heard.answer().tool_calls.is_empty(), "{why}: half an answer calls nothing");
        let seen: Vec<bool> = peer.seen().iter().map(|seen| seen.body["stream"] == json!(true)).collect();
        assert_eq!(seen, [true, false], "{why}: once with a stream, once without");
    }
}

#[tokio::test]
async fn a_stream_that_fails_after_something_was_seen_is_an_error_and_no_second_answer() {
    let pieces = events(&[&text("he"), &text("llo")]);
    let with = |last: &str| [pieces.clone(), vec![last.to_owned()]].concat();
    let rows: Vec<(&str, Act, ErrorClass)> = vec![
        ("broken off", Act::Broken(pieces.clone()), ErrorClass::Network),
        ("ended without an end", Act::Stream(pieces.clone()), ErrorClass::Network),
        ("half an event", Act::Stream(with("data: {\"cho")), ErrorClass::Network),
        ("a broken event", Act::Stream(with("data: {\"cho\n\n")), ErrorClass::Malformed),
        ("silence", Act::Stalled(pieces.clone()), ErrorClass::Timeout),
        (
            "an error",
            Act::Stream(with("data: {\"error\":{\"code\":429,\"message\":\"x\"}}\n\n")),
            ErrorClass::RateLimit,
        ),
        (
            "a line without end",
            Act::Stream(with(&format!("data: {}", "x".repeat(5 << 20)))),
            ErrorClass::Malformed,
        ),
    ];
    for (why, act, class) in rows {
        let (heard, peer) = against(vec![act, fine()], streaming()).await;
        assert_eq!(heard.error().class, class, "{why}: {}", heard.error());
        assert_eq!(heard.pieces.concat(), "hello", "{why}");
        assert_eq!(peer.seen().len(), 1, "{why}: nobody was asked again");
    }
}

#[tokio::test]
async fn a_stream_without_end_is_cut_off() {
    let (heard, _) =
        against(vec![Act::Flood("text/event-stream", 100 << 20), Act::Silence], streaming()).await;
    assert!(heard.error().message.contains("larger than 16 MiB"), "{}", heard.error());
}

#[tokio::test]
async fn a_stream_that_drips_is_cut_off() {
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\".\"}}]}\n\n";
    for (why, packet, seconds) in [("comments", ": still here\n\n", 5), ("an answer without end", piece, 40)]
    {
        let began = std::time::Instant::now();
        let (heard, _) = against(vec![Act::Drip(packet)], streaming()).await;
        assert_eq!(heard.error().class, ErrorClass::Timeout, "{why}: {}", heard.error());
        assert!(began.elapsed().as_secs() < seconds, "{why}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_stream_that_was_complete_is_taken_even_when_its_end_is_missing() {
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
    let packets = events(&[&text("hello"), &end]);
    for (why, act) in [
        ("no `[DONE]`", Act::Stream(packets.clone())),
        ("a broken connection", Act::Broken(packets.clone())),
        ("silence", Act::Stalled(packets)),
        ("a document instead of a stream", {
            let body = json!({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]});
            Act::Reply(200, JSON, body.to_string())
        }),
    ] {
        let (heard, peer) = against(vec![act], streaming()).await;
        assert_eq!((heard.answer().content.as_str(), peer.seen().len()), ("hello", 1), "{why}");
    }
}

#[tokio::test]
async fn a_key_goes_to_no_other_origin() {
    let other = Peer::new(vec![fine()]).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: {}/v1/chat/completions\r\n", other.base);
        let (heard, _) = against(vec![Act::Reply(status, location.leak(), String::new())], json!({})).await;
        assert!(heard.error().message.contains("redirects to another origin"), "{status}: {}", heard.error());
    }
    assert!(other.seen().is_empty(), "nothing arrived there");
    for (why, status, want) in [
        ("a move within the origin keeps the request", 307, Ok("whole")),
        ("one that would lose the body is not followed", 302, Err("is not followed")),
    ] {
        let (heard, peer) =
            against(vec![Act::Reply(status, "location: /elsewhere\r\n", String::new()), fine()], json!({}))
                .await;
        match want {
            Ok(text) => {
                assert_eq!(heard.answer().content, text, "{why}");
                assert_eq!(peer.seen()[1].line, "POST /elsewhere", "{why}");
                assert_eq!(peer.seen()[1].header("authorization"), format!("Bearer {KEY}"), "{why}");
            }
            Err(part) => assert!(heard.error().message.contains(part), "{why}: {}", heard.error()),
        }
    }
}

#[tokio::test]
async fn a_time_to_come_back_is_kept() {
    let busy = |headers| Act::Reply(429, headers, String::new());
    let peer = Peer::new(vec![busy("retry-after-ms: 300\r\n"), fine()]).await;
    let entry = json!({"model_name": "m", "model": "openai/x", "api_base": peer.base});
    let defaults = json!({"model_name": "m", "max_llm_retries": 1, "llm_retry_backoff_secs": 0});
    let models = Models::new(&config(&json!({"agents": {"defaults": defaults}, "model_list": [entry]})));
    let heard = ask(&models, &hello()).await;
    assert_eq!(heard.answer().content, "whole");
    assert!(heard.retries[0].wait >= Duration::from_millis(300), "{:?}", heard.retries);
    let (heard, peer) = against(vec![busy("retry-after: 7200\r\n"), fine()], json!({})).await;
    assert_eq!(
        (heard.error().class, peer.seen().len()),
        (ErrorClass::RateLimit, 1),
        "two hours are not waited for"
    );
}

#[tokio::test]
async fn an_address_where_nobody_is_gives_a_clear_error() {
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let (heard, _) =
        against(vec![fine()], json!({"api_base": format!("http://user:hunter2222@{gone}/v1?key={KEY}")}))
            .await;
    let message = &heard.error().message;
    assert!(message.contains(&format!("could not connect to `http://{gone}`")), "{message}");
    assert!(!message.contains("hunter2222") && !message.contains(KEY), "{message}");
}
