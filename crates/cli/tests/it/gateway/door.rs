//! Who gets in, and what is too much.

use super::client::{DIRECT, Gateway, request};
use crate::test_instance::TestInstance;
use picoclaw_testing::PATIENCE;
use serde_json::json;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn the_door_asks_for_host_origin_and_token() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let bearer = gateway.bearer();
    let (host, token) = (("Host", "localhost"), ("Authorization", bearer.as_str()));
    let own = format!("http://localhost:{}", gateway.port);
    let at_port = format!("localhost:{}", gateway.port);
    let query = format!("GET /v1/models?token={0}&access_token={0}", gateway.token);
    for (why, line, headers, want) in [
        ("who may", "GET /v1/models", vec![host, token], 200),
        ("no token", "GET /v1/models", vec![host], 401),
        (
            "a wrong one",
            "GET /v1/models",
            vec![host, ("Authorization", "Bearer 0123456789abcdef0123456789abcdef")],
            401,
        ),
        ("another scheme", "GET /v1/models", vec![host, ("Authorization", "Basic Og==")], 401),
        ("two tokens", "GET /v1/models", vec![host, token, token], 401),
        ("in the query", query.as_str(), vec![host], 401),
        ("a path that is not there, without a token", "GET /nope", vec![host], 401),
        ("the same with one", "GET /nope", vec![host, token], 404),
        ("a path that looks public", "GET /health/", vec![host], 401),
        ("a path that looks public, doubled", "GET //health", vec![host], 401),
        ("a path with a way up", "GET /health/../v1/models", vec![host], 401),
        ("health", "GET /health", vec![host], 200),
        ("ready", "GET /ready", vec![host], 200),
        ("the page", "GET /", vec![host], 200),
        ("the head of it", "HEAD /health", vec![host], 200),
        ("no host", "GET /health", vec![], 421),
        ("another name", "GET /health", vec![("Host", "evil.example")], 421),
        ("another name with a token", "GET /v1/models", vec![("Host", "evil.example"), token], 421),
        ("every address", "GET /health", vec![("Host", "0.0.0.0")], 421),
        ("another address of the loopback", "GET /health", vec![("Host", "127.3.2.1:99")], 200),
        ("the IPv6 loopback", "GET /health", vec![("Host", "[::1]:99")], 200),
        ("another page", "GET /v1/models", vec![host, token, ("Origin", "https://evil.example")], 403),
        ("another page without a token", "POST /reload", vec![host, ("Origin", "null")], 403),
        ("another port's page", "GET /v1/models", vec![host, token, ("Origin", "http://localhost:1")], 403),
        (
            "our own page",
            "GET /v1/models",
            vec![("Host", at_port.as_str()), token, ("Origin", own.as_str())],
            200,
        ),
        (
            "a preflight of another page",
            "OPTIONS /v1/models",
            vec![host, ("Origin", "https://evil.example")],
            403,
        ),
        ("another method", "POST /v1/models", vec![host, token], 405),
        ("reloading by looking", "GET /reload", vec![host, token], 405),
        ("reloading without a token", "POST /reload", vec![host], 401),
        ("a method of nobody's", "BREW /health", vec![host], 405),
    ] {
        let answer = gateway.send(line, &headers, "");
        assert_eq!(answer.status, want, "{why}: {answer:?}");
        assert!(!answer.head.contains("access-control-"), "{why}: no page is let in: {answer:?}");
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{why}: {answer:?}");
        if want == 401 {
            assert_eq!(answer.body, r#"{"error":"unauthorized"}"#, "{why}");
        }
    }
}

#[test]
fn a_token_that_is_set_is_accepted_beside_the_one_of_the_pid_file() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::with(&instance, &[], &[("PICOCLAW_GATEWAY_TOKEN", "chosen-by-the-operator")]);
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        gateway.send("GET /v1/models", &[("Host", "localhost"), ("Authorization", &bearer)], "").status
    };
    assert_eq!(ask("chosen-by-the-operator"), 200);
    assert_eq!(ask(&gateway.token), 200, "the PID file names one that works");
    assert_eq!(ask("chosen-by-another-operator"), 401);
}

#[test]
fn listening_for_other_machines_needs_a_token() {
    let instance = TestInstance::with_config(DIRECT);
    for host in ["0.0.0.0", "*", "127.0.0.1,0.0.0.0", "::", "192.0.2.1"] {
        let ran = instance.run(&["gateway", "--host", host, "--port", "18790"]);
        assert_eq!(ran.code, 2, "{host}: {ran:?}");
        assert!(ran.stderr.contains("`gateway.token` is not set"), "{host}: {ran:?}");
        assert!(!instance.home().join(".picoclaw.pid").exists(), "{host}: nothing began");
    }
    for (why, arguments) in [
        ("no address", ["gateway", "--host", "not an address", "--port", "18790"]),
        ("no port", ["gateway", "--host", "127.0.0.1", "--port", "0"]),
        ("no port at all", ["gateway", "--host", "127.0.0.1", "--port", "65536"]),
    ] {
        assert_eq!(instance.run(&arguments).code, 2, "{why}");
    }
    let gateway = Gateway::with(
        &instance,
        &["--host", "0.0.0.0"],
        &[("PICOCLAW_GATEWAY_TOKEN", "chosen-by-the-operator")],
    );
    let answer = gateway.send("GET /health", &[("Host", "localhost")], "");
    assert_eq!(answer.status, 200);
    assert_eq!(
        gateway.send("GET /health", &[("Host", "192.0.2.1")], "").status,
        421,
        "and the name is asked for"
    );
}

#[test]
fn names_that_the_operator_lists_are_let_in() {
    let instance = TestInstance::with_config(
        r#"{"version": 3, "heartbeat": {"enabled": false}, "gateway": {"allowed_hosts": ["claw.example"]}}"#,
    );
    let gateway = Gateway::new(&instance);
    assert_eq!(gateway.send("GET /health", &[("Host", "claw.example:443")], "").status, 200);
    assert_eq!(gateway.send("GET /health", &[("Host", "other.example")], "").status, 421);
}

#[test]
fn bodies_are_bounded() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::approving(&instance);
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
    // Announced and never sent: answered from the announcement.
    let mut stream = gateway.connect();
    let text = request("POST /v1/chat/completions", &headers, "")
        .replace("\r\n\r\n", "\r\nContent-Length: 104857600\r\n\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut told = String::new();
    let _ = stream.read_to_string(&mut told);
    assert!(told.starts_with("HTTP/1.1 413"), "{told}");
    // Not announced: cut off at the bound.
    let mut stream = gateway.connect();
    let text = request("POST /v1/chat/completions", &headers, "")
        .replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0;
    while sent < 100 << 20 && stream.write_all(chunk.as_bytes()).is_ok() {
        sent += chunk.len();
    }
    assert!(sent < 16 << 20, "{sent} bytes were taken");
    let fits = json!({"model": "main", "messages": [{"role": "user", "content": "x".repeat(4 << 20)}]});
    assert_eq!(gateway.post("/v1/chat/completions", &fits).status, 413);
    let answer = gateway.post("/api/approvals/1", &json!({"hash": "x".repeat(5 << 20), "answer": "no"}));
    assert_eq!(answer.status, 413);
    assert_eq!(gateway.get("/health").status, 200, "and goes on");
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let mut slow = gateway.connect();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    slow.write_all(b"GET /health HTTP/1.1\r\nHost: local").unwrap();
    let began = Instant::now();
    assert_eq!(gateway.get("/health").status, 200, "others are served meanwhile");
    let mut told = Vec::new();
    let _ = slow.read_to_end(&mut told);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(25) && took < PATIENCE, "{took:?}");
}

#[test]
fn the_page_is_whole_and_locked_down() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let page = gateway.send("GET /", &[("Host", "localhost")], "");
    assert!(page.head.contains("content-type: text/html"), "{}", page.head);
    assert!(page.head.contains("default-src 'none'"), "{}", page.head);
    assert!(!page.head.contains("unsafe-inline"), "{}", page.head);
    assert!(page.head.contains("frame-ancestors 'none'"), "{}", page.head);
    assert!(!page.body.contains(&gateway.token), "the page holds no secret");
}

#[test]
fn numbers_and_the_document_are_for_those_who_may() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let numbers = gateway.get("/metrics");
    assert!(numbers.head.contains("text/plain; version=0.0.4"), "{}", numbers.head);
    for name in [
        "process_resident_memory_bytes ",
        "picoclaw_ready 1",
        "picoclaw_turns_running 0",
        "picoclaw_build_info{",
    ] {
        assert!(numbers.body.contains(name), "{name}: {}", numbers.body);
    }
    let document = gateway.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let served = document["paths"].as_object().unwrap();
    for path in served.keys().filter(|path| !path.contains('{')) {
        if *path == "/api/events" || served[path].get("get").is_none() {
            continue;
        }
        assert_eq!(gateway.get(path).status, 200, "`{path}` is in the document");
    }
}
