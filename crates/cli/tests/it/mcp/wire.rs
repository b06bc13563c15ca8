//! A client that speaks raw lines, so that it can also say what no client would.

use crate::test_instance::TestInstance;
use picoclaw_testing::PATIENCE;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub(crate) struct Wire {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Wire {
    /// Starts a server and says nothing yet.
    pub(crate) fn open(instance: &TestInstance, arguments: &[&str]) -> Self {
        let mut command = instance.command(&["mcp", "serve"]);
        command.args(arguments);
        Self::start(command)
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, next: 1 }
    }

    /// A server that has shaken hands with a client that offers `capabilities`.
    pub(crate) fn greeted(instance: &TestInstance, arguments: &[&str], capabilities: &Value) -> Self {
        let mut wire = Self::open(instance, arguments);
        let version = "2025-11-25";
        let hello = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let answer = wire.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        wire.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        wire
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.say_bytes(message.to_string().as_bytes());
    }

    /// One line, as it is.
    pub(crate) fn say_bytes(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// The next line, which must be a message.
    pub(crate) fn hear(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("the server says nothing"));
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("no message: {why}: {line}"))
    }

    /// What comes next, if it comes soon.
    pub(crate) fn hear_soon(&self) -> Option<Value> {
        let line = self.lines.recv_timeout(Duration::from_millis(300)).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Sends a request and says under which number.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    /// Closes its mouth; it still listens.
    pub(crate) fn hush(&mut self) {
        self.stdin = None;
    }

    /// Dies as a process does: both ends are closed. How the server ended, and after how long.
    pub(crate) fn vanish(mut self) -> (i32, Duration) {
        self.lines = channel().1;
        // The thread that reads lets go of its end with the next line.
        self.say_bytes(b"last words");
        self.end()
    }

    /// How the server ended, and after how long.
    pub(crate) fn end(mut self) -> (i32, Duration) {
        self.stdin = None;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code().unwrap_or(-1), begin.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().unwrap();
        panic!("the server outlived its client");
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a tool's result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// A time to sleep that no other test sleeps, so that the sleeper can be found.
pub(crate) fn fresh_sleep() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("4{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Whether a process sleeps that long.
pub(crate) fn sleeps(time: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"sleep") && words.next() == Some(time.as_bytes())
    })
}
