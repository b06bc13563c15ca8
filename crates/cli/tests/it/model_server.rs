//! A model server on the loopback interface, with answers that a test wrote.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// One answer of the server.
#[derive(Clone)]
pub(crate) enum Said {
    /// This text.
    Text(&'static str),
    /// This call of a tool.
    Call(&'static str, &'static str),
    /// This status, with a message and more headers.
    Fails(u16, &'static str, &'static str),
    /// No answer, on a connection that stays open.
    Nothing,
}

/// The server; it lives as long as the test.
pub(crate) struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl ModelServer {
    /// Gives these answers in turn; the last one again and again.
    pub(crate) fn new(answers: &[Said]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    /// The same, at this port; `None` when it is taken.
    pub(crate) fn at_port(port: u16, answers: &[Said]) -> Option<Self> {
        TcpListener::bind(("127.0.0.1", port)).ok().map(|listener| Self::on(listener, answers))
    }

    fn on(listener: TcpListener, answers: &[Said]) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answers) = (Arc::clone(&requests), answers.to_vec());
        std::thread::spawn(move || {
            let given = Arc::new(Mutex::new(0));
            for stream in listener.incoming().flatten() {
                let (seen, given, answers) = (Arc::clone(&seen), Arc::clone(&given), answers.clone());
                std::thread::spawn(move || serve(stream, &seen, &given, &answers));
            }
        });
        Self { address, requests }
    }

    /// Its address, as `OPENAI_BASE_URL` has it.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The head and the body of every request so far.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<(String, Value)>>,
    given: &Mutex<usize>,
    answers: &[Said],
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if head.starts_with("GET") {
        return send(stream, 200, "", "application/json", &json!({"data": [{"id": "tiny:1b"}]}).to_string());
    }
    seen.lock().unwrap().push((head.clone(), body.clone()));
    let said = {
        let mut given = given.lock().unwrap();
        let said = answers.get(*given).or(answers.last())?.clone();
        *given += 1;
        said
    };
    if let Said::Nothing = said {
        let _closed = reader.read(&mut [0]);
        return None;
    }
    if let Said::Fails(status, message, headers) = said {
        return send(
            stream,
            status,
            headers,
            "application/json",
            &json!({"error": {"message": message}}).to_string(),
        );
    }
    if head.contains("/v1/messages") {
        let Said::Text(text) = said else { return None };
        let answer = json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 7, "output_tokens": 3}});
        return send(stream, 200, "", "application/json", &answer.to_string());
    }
    let message = match said {
        Said::Text(text) => json!({"content": text}),
        Said::Call(name, arguments) => json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": name, "arguments": arguments}}]}),
        Said::Fails(..) | Said::Nothing => return None,
    };
    let usage = json!({"prompt_tokens": 1200, "completion_tokens": 34});
    if body["stream"] == true {
        let first = json!({"choices": [{"delta": message}]});
        let last = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage});
        let events = format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n");
        return send(stream, 200, "", "text/event-stream", &events);
    }
    let answer = json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage});
    send(stream, 200, "", "application/json", &answer.to_string())
}

fn send(mut stream: TcpStream, status: u16, headers: &str, kind: &str, body: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}
