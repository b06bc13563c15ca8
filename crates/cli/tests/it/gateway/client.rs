//! A gateway that runs, and a lean HTTP client for it.

use crate::test_instance::TestInstance;
use picoclaw_testing::{PATIENCE, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A model that says what the file says, so that nothing outside is needed.
pub(crate) const SCRIPTED: &str = r#"{
  "version": 3,
  "agents": {"defaults": {"model_name": "s", "max_tool_iterations": 1000, "max_parallel_turns": 8}},
  "heartbeat": {"enabled": false},
  "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
}"#;

/// No model: a line is a command.
pub(crate) const DIRECT: &str =
    r#"{"version": 3, "heartbeat": {"enabled": false}, "agents": {"defaults": {"max_parallel_turns": 8}}}"#;

/// A gateway that runs.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
    said: Arc<Mutex<String>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

impl Gateway {
    pub(crate) fn new(instance: &TestInstance) -> Self {
        Self::with(instance, &[], &[])
    }

    /// A gateway and a client whose named token may do everything.
    pub(crate) fn approving(instance: &TestInstance) -> Self {
        let token = new_token(instance, "operator", "chat,watch,approve,admin");
        let mut gateway = Self::new(instance);
        gateway.token = token;
        gateway
    }

    pub(crate) fn with(instance: &TestInstance, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::wrapped(instance, &[], arguments, variables)
    }

    /// The same, started by another program.
    pub(crate) fn wrapped(
        instance: &TestInstance,
        wrapper: &[&str],
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        // A port that was free a moment ago may be taken by now.
        for _ in 0..5 {
            if let Some(gateway) = Self::try_with(instance, wrapper, arguments, variables) {
                return gateway;
            }
        }
        panic!("no port could be had");
    }

    /// Started by a shell that may have so many descriptors.
    pub(crate) fn limited(instance: &TestInstance, descriptors: u32) -> Self {
        let shell = format!("ulimit -S -n {descriptors}; exec \"$0\" \"$@\"");
        Self::wrapped(instance, &["sh", "-c", &shell], &[], &[])
    }

    fn try_with(
        instance: &TestInstance,
        wrapper: &[&str],
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        let port = free_port();
        let mut command = instance.wrapped(wrapper, &["gateway", "--port", &port.to_string()]);
        command.args(arguments).envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = Arc::new(Mutex::new(String::new()));
        while !said.lock().unwrap().contains("Gateway started") {
            match lines.next() {
                Some(Ok(line)) => said.lock().unwrap().push_str(&format!("{line}\n")),
                _ => {
                    let _ = child.wait();
                    let said = said.lock().unwrap();
                    assert!(said.contains("could not listen"), "it did not start: {said}");
                    return None;
                }
            }
        }
        let later = Arc::clone(&said);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| later.lock().unwrap().push_str(&format!("{line}\n")));
        });
        let recorded = std::fs::read_to_string(instance.home().join(".picoclaw.pid")).unwrap();
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        assert_eq!(recorded["port"], port);
        Some(Self { child, port, token: recorded["token"].as_str().unwrap().to_owned(), said })
    }

    /// What it has logged.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has logged this.
    pub(crate) fn says(&self, text: &str) {
        wait_for(&format!("it does not log {text:?}"), || self.said().contains(text).then_some(()));
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// With exactly these headers.
    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.connect();
        // A server that turns away before it has read the body may close on us.
        let _ = stream.write_all(request(line, headers, body).as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        parse(&bytes)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let bearer = self.bearer();
        self.send(&format!("GET {path}"), &[("Host", "localhost"), ("Authorization", &bearer)], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let bearer = self.bearer();
        let headers =
            [("Host", "localhost"), ("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.send(&format!("POST {path}"), &headers, &body.to_string())
    }

    /// The status of a request with another token, from another loopback address if need be.
    pub(crate) fn status(&self, line: &str, token: &str, from: &str) -> Answer {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddrV4::new(from.parse().unwrap(), 0)).unwrap();
        connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port)).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let bearer = format!("Bearer {token}");
        let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
        stream.write_all(request(line, &headers, "").as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        parse(&bytes)
    }

    /// Opens a stream, and gives its lines.
    pub(crate) fn open(&self, line: &str, body: &str) -> impl Iterator<Item = String> + use<> {
        let bearer = self.bearer();
        let mut stream = self.connect();
        let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
        stream.write_all(request(line, &headers, body).as_bytes()).unwrap();
        BufReader::new(stream).lines().map_while(Result::ok)
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it as an operator would; how, and how long it took.
    pub(crate) fn end(mut self) -> (ExitStatus, Duration, String) {
        let began = Instant::now();
        self.signal(rustix::process::Signal::TERM);
        let status = self.child.wait().unwrap();
        let took = began.elapsed();
        // The thread that reads lets go at the end.
        wait_for("the log does not end", || (Arc::strong_count(&self.said) == 1).then_some(()));
        (status, took, self.said())
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a named token.
pub(crate) fn new_token(instance: &TestInstance, name: &str, scopes: &str) -> String {
    let ran = instance.run(&["token", "add", name, "--scope", scopes]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim().to_owned()
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

pub(crate) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}")
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap();
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { dechunked(rest) } else { rest.to_owned() };
    Answer { status, head: head.to_lowercase(), body }
}

fn dechunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || after.len() < size {
            break;
        }
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}
