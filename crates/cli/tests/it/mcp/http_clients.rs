//! Clients of one HTTP server beside each other: whose yes serves whom, and who shuts whom out.

use super::http::{Listening, TOKEN, headers, modern, request};
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ASKING: &str = r#"{"tools": {"exec": {"on_block": "ask"}}}"#;

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

/// One call of a client without a session, with what it adds to the parameters.
fn stateless(server: &Listening, command: &str, more: &Value) -> Value {
    let mut body: Value = serde_json::from_str(&modern("exec", &json!({"command": command}))).unwrap();
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    body["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = server.post(&headers("exec", &bearer()), &body.to_string());
    assert_eq!(status, 200, "{answer}");
    let line = answer.lines().find(|line| line.contains("\"jsonrpc\"")).unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str::<Value>(line.trim_start_matches("data: ")).unwrap()["result"].take()
}

fn answered(ticket: &Value, word: &str) -> Value {
    json!({"requestState": ticket, "inputResponses": {"approval": {"action": "accept", "content": {"answer": word}}}})
}

#[test]
fn the_yes_of_a_client_without_a_session_serves_this_one_call() {
    let instance = TestInstance::with_config(ASKING);
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let (server, file) = (Listening::new(&instance, &[]), instance.workspace().join("data.txt"));
    let write = || fs::write(&file, "x").unwrap();
    write();
    let asked = stateless(&server, "rm -rf data.txt", &json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let form = &asked["inputRequests"]["approval"]["params"]["requestedSchema"];
    let offered = form["properties"]["answer"]["enum"].as_array().unwrap();
    assert!(!offered.contains(&json!("session")), "no session, no yes for one: {offered:?}");
    assert!(file.exists(), "nothing happens before the answer");
    let done = stateless(&server, "rm -rf data.txt", &answered(&asked["requestState"], "session"));
    assert!(done["structuredContent"]["code"].is_null() && !file.exists(), "the control: {done}");
    write();
    let again = stateless(&server, "rm -rf data.txt", &json!({}));
    assert_eq!(again["resultType"], "input_required", "asked again: {again}");
    let spent = stateless(&server, "rm -rf data.txt", &answered(&asked["requestState"], "once"));
    assert_eq!(spent["structuredContent"]["code"], "not_approved", "a ticket counts once: {spent}");
    assert!(file.exists());
}

/// A client that shook hands.
struct Client<'s> {
    server: &'s Listening,
    session: String,
}

impl<'s> Client<'s> {
    fn new(server: &'s Listening) -> Self {
        let mut client = Self { server, session: String::new() };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
        let head = client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
        let mut lines = head.lines();
        let session = lines
            .find_map(|line| line.ok()?.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        client.session = session.unwrap();
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Sends a message; what comes in answer is still to be read.
    fn send(&self, message: &Value) -> BufReader<TcpStream> {
        let bearer = bearer();
        let mut headers = vec![("Host", "localhost"), ("Authorization", bearer.as_str())];
        if !self.session.is_empty() {
            headers
                .extend([("Mcp-Session-Id", self.session.as_str()), ("MCP-Protocol-Version", "2025-06-18")]);
        }
        let mut stream = self.server.connect();
        stream.write_all(request(&headers, &message.to_string()).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        // The head is there when the message was taken.
        reader.fill_buf().unwrap();
        reader
    }

    /// Makes a call and answers its question; whether it was asked.
    fn call(&self, command: &str, word: &str) -> bool {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "exec", "arguments": {"command": command}}});
        let mut is_asked = false;
        for line in self.send(&call).lines() {
            let line = line.unwrap();
            let Some(at) = line.find('{') else { continue };
            let Ok(message) = serde_json::from_str::<Value>(&line[at..]) else { continue };
            if message["method"] == "elicitation/create" {
                is_asked = true;
                let content = json!({"action": "accept", "content": {"answer": word}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": content}));
            }
            if message["id"] == 7 && message.get("result").is_some() {
                return is_asked;
            }
        }
        panic!("the call was not answered");
    }
}

#[test]
fn the_yes_for_one_session_serves_no_other() {
    let instance = TestInstance::with_config(ASKING);
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let server = Listening::new(&instance, &[]);
    let (one, other) = (Client::new(&server), Client::new(&server));
    assert!(one.call("rm -rf data.txt", "session"));
    assert!(!one.call("rm -rf data.txt", "no"), "the control: its own session");
    assert!(other.call("rm -rf data.txt", "no"), "another client's session");
    let bare = stateless(&server, "rm -rf data.txt", &json!({}));
    assert_eq!(bare["resultType"], "input_required", "a client without a session: {bare}");
}

#[test]
fn half_sent_heads_shut_no_client_out() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let strangers: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n").unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    for _ in 0..5 {
        let (status, answer) = server.post(&headers("list_dir", &bearer()), &modern("list_dir", &json!({})));
        assert_eq!(status, 200, "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    // The control: there is room for fewer than came, so some of them had to make room.
    let is_closed = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        matches!(stream.read(&mut [0; 1]), Ok(0)) || stream.write_all(b"X: y\r\n").is_err()
    };
    assert!(strangers.iter().any(is_closed), "all 200 were held beside the clients");
}

#[test]
fn wrong_tokens_are_throttled_and_the_right_one_is_not() {
    let instance = TestInstance::with_config("{}");
    let server = Listening::new(&instance, &[]);
    let body = modern("list_dir", &json!({}));
    let guesses: Vec<u16> = (0..40)
        .map(|round| server.post(&headers("list_dir", &format!("Bearer {round:032}")), &body).0)
        .collect();
    assert_eq!(guesses[0], 401);
    assert!(guesses[20..].iter().all(|status| *status == 429), "{guesses:?}");
    let (_, answer) = server.post(&headers("list_dir", "Bearer wrong"), &body);
    assert!(answer.to_lowercase().contains("retry-after: "), "{answer}");
    assert_eq!(server.post(&headers("list_dir", &bearer()), &body).0, 200, "the right one");
}

#[test]
fn a_token_that_can_be_guessed_is_not_for_other_machines() {
    let instance = TestInstance::with_config("{}");
    for token in ["aaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab"] {
        let mut command = instance.command(&["mcp", "serve", "--http", "0.0.0.0:0"]);
        let ran = command.env("PICOCLAW_MCP_TOKEN", token).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{token}: {said}");
        assert!(said.contains("could be guessed") && !said.contains(token), "{said}");
    }
}
