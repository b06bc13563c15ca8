//! The server over HTTP: who gets in, what is too much, and who leaves early.

use super::wire::{fresh_sleep, sleeps};
use crate::test_instance::TestInstance;
use picoclaw_testing::{PATIENCE, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that listens, with its own port.
pub(crate) struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    pub(crate) fn new(instance: &TestInstance, arguments: &[&str]) -> Self {
        let mut command = instance.command(&["mcp", "serve", "--http", "127.0.0.1:0"]);
        command.args(arguments).env("PICOCLAW_MCP_TOKEN", TOKEN).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains("listening on"))).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let port = line.trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request with these headers, and says the status and the rest.
    pub(super) fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = self.connect();
        // A server that turns away before it has read the body may close on us.
        let _ = stream.write_all(request(headers, body).as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status =
            answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"));
        (status, answer)
    }
}

impl Listening {
    /// Calls a tool without a session; its result.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let bearer = format!("Bearer {TOKEN}");
        let (status, answer) = self.post(&headers(tool, &bearer), &modern(tool, arguments));
        assert_eq!(status, 200, "{answer}");
        let line = answer.lines().find(|line| line.contains("\"jsonrpc\""));
        let line = line.unwrap_or_else(|| panic!("no message: {answer}")).trim_start_matches("data: ");
        serde_json::from_str::<Value>(line).unwrap()["result"].take()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn request(headers: &[(&str, &str)], body: &str) -> String {
    let mut text = "POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n".to_owned();
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}Content-Length: {}\r\n\r\n{body}", body.len())
}

pub(super) fn modern(tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": meta, "name": tool, "arguments": arguments}})
        .to_string()
}

pub(super) fn headers<'h>(tool: &'h str, bearer: &'h str) -> Vec<(&'static str, &'h str)> {
    vec![
        ("Host", "localhost"),
        ("Authorization", bearer),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]
}

#[test]
fn the_door_asks_for_host_origin_and_token_in_this_order() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let bearer = format!("Bearer {TOKEN}");
    let body = modern("list_dir", &json!({}));
    let good = headers("list_dir", &bearer);
    let without = |name: &str| good.iter().copied().filter(|(known, _)| *known != name).collect::<Vec<_>>();
    let with = |name: &str, line: (&'static str, &'static str)| [without(name), vec![line]].concat();
    for (why, headers, want) in [
        ("who may", good.clone(), 200),
        ("no token", without("Authorization"), 401),
        (
            "a wrong one",
            with("Authorization", ("Authorization", "Bearer 0123456789abcdef0123456789abcdeF")),
            401,
        ),
        ("no host", without("Host"), 421),
        ("another name", with("Host", ("Host", "evil.example")), 421),
        ("another name without a token", vec![("Host", "evil.example")], 421),
        ("another page", with("", ("Origin", "https://evil.example")), 403),
        ("another page without a token", vec![("Host", "localhost"), ("Origin", "null")], 403),
        ("our own page", with("", ("Origin", "http://localhost")), 200),
    ] {
        let (status, answer) = server.post(&headers, &body);
        assert_eq!(status, want, "{why}: {answer}");
        assert!(!answer.to_lowercase().contains("access-control-"), "{why}: no page is let in: {answer}");
    }
}

#[test]
fn what_is_too_much_or_no_message_is_turned_away() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let bearer = format!("Bearer {TOKEN}");
    let good = headers("list_dir", &bearer);
    let big = modern("list_dir", &json!({"path": "x".repeat(5 << 20)}));
    for (why, body, want) in
        [("over 4 MiB", big.as_str(), 413), ("no JSON", "{", 415), ("a batch", "[]", 415)]
    {
        let (status, answer) = server.post(&good, body);
        assert!(status == want || (400..500).contains(&status) && want == 415, "{why}: {answer}");
    }
    let (status, _) = server.post(&good, &modern("list_dir", &json!({})));
    assert_eq!(status, 200, "and goes on");
}

#[test]
fn there_are_128_connections_and_the_next_one_waits_its_turn() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let bearer = format!("Bearer {TOKEN}");
    let (headers, body) = (headers("list_dir", &bearer), modern("list_dir", &json!({})));
    let kept_alive = request(&headers, &body).replace("Connection: close\r\n", "");
    let mut first = [0; 12];
    // Connections that have shown the token are not closed for others.
    let mut taken: Vec<TcpStream> = (0..128)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(kept_alive.as_bytes()).unwrap();
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    let mut late = server.connect();
    late.write_all(request(&headers, &body).as_bytes()).unwrap();
    late.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(late.read_exact(&mut first).is_err(), "it was let in: {first:?}");
    taken.truncate(127);
    late.set_read_timeout(Some(PATIENCE)).unwrap();
    late.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200", "its turn came when another one left");
}

#[test]
fn a_client_that_hangs_up_takes_its_command_with_it() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let bearer = format!("Bearer {TOKEN}");
    let time = fresh_sleep();
    let body = modern("exec", &json!({"command": format!("setsid sleep {time} & sleep {time}; wait")}));
    let mut stream = server.connect();
    stream.write_all(request(&headers("exec", &bearer), &body).as_bytes()).unwrap();
    wait_until("it never began", || sleeps(&time));
    drop(stream);
    wait_until("it outlived its client", || !sleeps(&time));
}

#[test]
fn the_token_can_lie_in_a_file_and_is_never_said() {
    let instance = TestInstance::with_config("{}");
    let file = instance.dir().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let server = Listening::new(&instance, &["--token-file", file.to_str().unwrap()]);
    let bearer = format!("Bearer {TOKEN}");
    let (status, answer) =
        server.post(&headers("exec", &bearer), &modern("exec", &json!({"command": format!("echo {TOKEN}")})));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("[FILTERED]") && !answer.contains(TOKEN), "{answer}");
    std::fs::write(&file, "short\n").unwrap();
    let ran =
        instance.run(&["mcp", "serve", "--http", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]);
    assert!(ran.code == 2 && ran.stderr.contains("shorter than 16"), "{ran:?}");
}
