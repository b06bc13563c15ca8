//! Clients that talk to a gateway until it is gone.

use crate::gateway::client::request;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What came of one call.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) session: String,
    pub(super) said: String,
    pub(super) heard: Heard,
}

/// What a client was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The whole answer.
    Answer(String),
    /// The connection broke before the answer was whole.
    Nothing,
    /// Something that is no answer.
    Other(String),
}

/// Says one thing after another, until the gateway is gone. Every other answer comes as a stream.
pub(super) fn call_until_the_end(port: u16, bearer: &str, session: &str, life: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for n in 0.. {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { break };
        let said = format!("q{life}-{session}-{n}");
        let heard = call(stream, bearer, session, &said, n % 2 == 1);
        let is_over = !matches!(heard, Heard::Answer(_));
        outcomes.push(Outcome { session: session.to_owned(), said, heard });
        if is_over {
            break;
        }
    }
    outcomes
}

fn call(mut stream: TcpStream, bearer: &str, session: &str, said: &str, is_stream: bool) -> Heard {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let headers = [("Host", "localhost"), ("Authorization", bearer), ("X-Picoclaw-Session", session)];
    let body = json!({"model": "main", "stream": is_stream, "messages": [{"role": "user", "content": said}]});
    let text = request("POST /v1/chat/completions", &headers, &body.to_string());
    if stream.write_all(text.as_bytes()).is_err() {
        return Heard::Nothing;
    }
    let mut bytes = Vec::new();
    // A reset is an end like another.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Heard::Nothing };
    let has_gone =
        head.contains(" 503 ") || body.contains("the gateway ends") || body.contains("was stopped");
    match () {
        // Only a gateway that is asked to end says so.
        () if has_gone => Heard::Nothing,
        () if !head.starts_with("HTTP/1.1 200") => Heard::Other(text),
        () if is_stream => streamed(body),
        () => whole(head, body),
    }
}

fn whole(head: &str, body: &str) -> Heard {
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    if length.is_none_or(|length: usize| body.len() < length) {
        return Heard::Nothing;
    }
    match serde_json::from_str::<Value>(body) {
        Ok(told) => {
            Heard::Answer(told["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned())
        }
        Err(_) => Heard::Other(body.to_owned()),
    }
}

fn streamed(body: &str) -> Heard {
    if !body.contains("data: [DONE]") {
        return Heard::Nothing;
    }
    let pieces =
        body.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let text = pieces.filter_map(|piece| Some(piece["choices"][0]["delta"]["content"].as_str()?.to_owned()));
    Heard::Answer(text.collect())
}
