//! The server's times, on a clock that is put forward: thirty seconds for a client, sixty for a person.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on"
)]

mod fixture;

use fixture::{Fixture, subject};
use picoclaw_agent::mcp::server::http::{self, Token};
use picoclaw_agent::mcp::server::{ServerState, Streams, serve};
use picoclaw_policy::config::{Config, OnBlock};
use picoclaw_policy::{Origin, Subject};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

const TOKEN: &str = "0123456789abcdef";

/// A control character becomes six bytes in each of an answer's two texts: more than the sockets between two ends hold.
const LONG: usize = 1 << 20;

fn asking() -> (Fixture, Arc<ServerState>) {
    let mut config = Config::default();
    config.tools.exec.on_block = OnBlock::Ask;
    let fixture = Fixture::new(&config);
    let subject = Subject { origin: Origin::Mcp, ..subject() };
    let state = ServerState::new(fixture.executor.clone(), Arc::new(config), subject);
    (fixture, state)
}

/// A server on a port of its own.
async fn listening(state: &Arc<ServerState>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (state, token) = (Arc::clone(state), Token::new(TOKEN).unwrap());
    tokio::spawn(async move { http::serve(&state, listener, token).await });
    port
}

fn head(tool: &str, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {length}\r\n\r\n"
    )
}

fn body(tool: &str, arguments: &Value, more: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let mut params = json!({"_meta": meta, "name": tool, "arguments": arguments});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

async fn send(port: u16, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Everything that comes until the other side closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn post(port: u16, tool: &str, arguments: &Value, more: &Value) -> Value {
    let body = body(tool, arguments, more);
    let mut stream = send(port, &format!("{}{body}", head(tool, body.len()))).await;
    let answer = rest(&mut stream).await;
    let (_, json) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(json).unwrap_or_else(|why| panic!("{why}: {answer}"))
}

#[tokio::test(start_paused = true)]
async fn what_does_not_arrive_within_thirty_seconds_is_given_up() {
    let (_fixture, state) = asking();
    let port = listening(&state).await;
    let body = body("list_dir", &json!({}), &json!({}));
    for (why, sent) in [
        ("nothing but a line", "POST /mcp HTTP/1.1\r\n".to_owned()),
        ("half of a body", format!("{}{}", head("list_dir", body.len()), &body[..20])),
    ] {
        let mut stream = send(port, &sent).await;
        let begin = Instant::now();
        let answer = rest(&mut stream).await;
        let took = begin.elapsed();
        assert!(!answer.contains(" 200 "), "{why}: {answer}");
        let limit = Duration::from_secs(30);
        assert!(
            took >= limit - Duration::from_secs(1) && took <= limit + Duration::from_secs(1),
            "{why}: {took:?}"
        );
    }
    let answer = post(port, "list_dir", &json!({}), &json!({})).await;
    assert_eq!(answer["result"]["isError"], false, "the others are served: {answer}");
}

#[tokio::test(start_paused = true)]
async fn half_sent_requests_do_not_lock_out_clients_with_the_token() {
    let (_fixture, state) = asking();
    let port = listening(&state).await;
    let mut half_sent = Vec::new();
    for _ in 0..200 {
        half_sent.push(send(port, "POST /mcp HTTP/1.1\r\nHost: local").await);
    }
    let begin = Instant::now();
    let answer = post(port, "list_dir", &json!({}), &json!({})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(begin.elapsed() < Duration::from_secs(1), "served after {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_for_thirty_seconds_is_cut_off() {
    let (fixture, state) = asking();
    std::fs::write(fixture.base.join("home/workspace/long"), "\u{1}".repeat(LONG)).unwrap();
    let port = listening(&state).await;
    let body = body("read_file", &json!({"path": "long"}), &json!({}));
    let request = format!("{}{body}", head("read_file", body.len()));
    for (why, pause, is_whole) in [("at once", 0, true), ("in time", 29, true), ("too late", 31, false)] {
        let mut stream = send(port, &request).await;
        // Its first bytes show that the answer is on its way.
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200", "{why}");
        sleep(Duration::from_secs(pause)).await;
        let length = rest(&mut stream).await.len();
        assert_eq!(length > LONG * 12, is_whole, "{why}: {length} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_its_retry_for_sixty_seconds() {
    let (fixture, state) = asking();
    let port = listening(&state).await;
    for (why, pause, code) in
        [("in time", 59, Value::Null), ("too late, yes or no", 61, json!("not_approved"))]
    {
        let call = json!({"command": "rm -rf gone"});
        let asked = post(port, "exec", &call, &json!({})).await;
        let ticket = &asked["result"]["requestState"];
        assert!(ticket.is_string(), "{why}: {asked}");
        sleep(Duration::from_secs(pause)).await;
        let yes = json!({"approval": {"action": "accept", "content": {"answer": "once"}}});
        let answer = post(port, "exec", &call, &json!({"requestState": ticket, "inputResponses": yes})).await;
        assert_eq!(answer["result"]["structuredContent"]["code"], code, "{why}: {answer}");
    }
    let records = fixture.ledger();
    assert!(records.contains(r#""code":"not_approved""#), "it is recorded: {records}");
}

/// A client on a pair of pipes.
struct Piped {
    say: PipeWriter,
    hear: Option<BufReader<std::io::PipeReader>>,
}

impl Piped {
    fn open(state: &Arc<ServerState>) -> Self {
        let (input, say) = std::io::pipe().unwrap();
        let (hear, output) = std::io::pipe().unwrap();
        let streams = Streams {
            input: Box::new(input),
            output: Box::new(output),
            is_output_closed: Box::new(|| false),
        };
        let state = Arc::clone(state);
        tokio::spawn(async move { serve(&state, streams).await });
        Self { say, hear: Some(BufReader::new(hear)) }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.say, "{message}").unwrap();
    }

    /// The next message. The clock stands still while a thread waits for it.
    async fn hear(&mut self) -> Value {
        let mut hear = self.hear.take().unwrap();
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            hear.read_line(&mut line).unwrap();
            (hear, line)
        });
        let (hear, line) = read.await.unwrap();
        self.hear = Some(hear);
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_waits_for_its_answer_for_sixty_seconds() {
    let (_fixture, state) = asking();
    let mut client = Piped::open(&state);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
    client.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    assert_eq!(client.hear().await["id"], 0);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (why, pause, code) in [
        ("somebody said no in time", 59, "not_approved"),
        ("nobody said anything in time", 61, "dangerous_command"),
    ] {
        let call = json!({"name": "exec", "arguments": {"command": "rm -rf gone"}});
        client.say(&json!({"jsonrpc": "2.0", "id": pause, "method": "tools/call", "params": call}));
        let asked = client.hear().await;
        assert_eq!(asked["method"], "elicitation/create", "{why}: {asked}");
        sleep(Duration::from_secs(pause)).await;
        client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}));
        let answer = loop {
            let heard = client.hear().await;
            // What is asked of the client in vain is called back.
            if heard["id"] == pause {
                break heard;
            }
        };
        assert_eq!(answer["result"]["structuredContent"]["code"], code, "{why}: {answer}");
    }
}
