//! `picoclaw mcp wrap`, `trust` and `install` from the outside: the real binary, servers that lie, real servers.

mod confinement;
mod fetch;
mod install;
mod life;
mod peers;
mod pins;
mod talk;

use crate::test_instance::{TestInstance, has_native_cage};
use picoclaw_testing::{PATIENCE, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};

const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs that play servers and hosts; compiled in, so that they can be run where the sources cannot be read.
const SCRIPTS: [(&str, &str); 4] = [
    ("server.py", include_str!("mcp_wrap/servers/server.py")),
    ("host.py", include_str!("mcp_wrap/servers/host.py")),
    ("sdk_server.py", include_str!("mcp_wrap/servers/sdk_server.py")),
    ("sdk_client.py", include_str!("mcp_wrap/servers/sdk_client.py")),
];

/// An instance in which servers can be wrapped.
struct Den {
    instance: TestInstance,
    scripts: tempfile::TempDir,
}

impl Den {
    /// Nothing where this host gives no cage or has no Python, said loudly.
    fn new(why: &str) -> Option<Self> {
        Self::with_config(why, "{}")
    }

    fn with_config(why: &str, config: &str) -> Option<Self> {
        let instance = TestInstance::with_config(config);
        if !has_native_cage(why) {
            return None;
        }
        if !Path::new("/usr/bin/python3").exists() {
            picoclaw_testing::skip!("{why}: there is no python3");
            return None;
        }
        let scripts = tempfile::tempdir().unwrap();
        for (name, text) in SCRIPTS {
            std::fs::write(scripts.path().join(name), text).unwrap();
        }
        Some(Self { instance, scripts })
    }

    /// Where one of the programs lies.
    fn script(&self, name: &str) -> String {
        self.scripts.path().join(name).to_str().unwrap().to_owned()
    }

    /// `picoclaw mcp wrap` with these options around the lying server, which is told `lies`.
    fn wrap(&self, options: &[&str], lies: &[&str]) -> Server {
        let server = self.script("server.py");
        let mut words = vec!["--", "/usr/bin/python3", &server];
        words.extend(lies);
        self.wrap_command(&[options, &words].concat())
    }

    fn wrap_command(&self, words: &[&str]) -> Server {
        Server::start(self.command(words))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.instance.command(&["mcp", "wrap"]);
        command.args(words).env("PATH", SYSTEM_PATH);
        command
    }

    /// The lying server as it is, without anything around it: what it tries must work here.
    fn bare(&self, lies: &[&str]) -> Server {
        let mut command = Command::new("/usr/bin/python3");
        command.arg(self.script("server.py")).args(lies).current_dir(self.instance.dir());
        command.env("HOME", self.instance.dir()).env("XDG_STATE_HOME", self.instance.dir());
        Server::start(command)
    }

    /// A file beside the instance.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.instance.dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// A server that runs, as its host sees it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    next: i64,
}

impl Server {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let heard = Arc::new(Mutex::new(String::new()));
        let keep = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                keep.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { stdin: child.stdin.take(), child, lines, stderr: heard, next: 0 }
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// The next line; nothing at the end.
    fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing was said: {}", self.stderr()),
        }
    }

    fn message(&mut self) -> Value {
        let line = self.line().unwrap_or_else(|| panic!("it ended: {}", self.stderr()));
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }

    /// Asks, and waits for the answer; whatever else is said meanwhile is passed over.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.message();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// What the lying server found out.
    fn look(&mut self, what: &str) -> String {
        let answer = self.call("look", json!({ "what": what }));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The host has nothing more to say; how it ends.
    fn end(mut self) -> (i32, String) {
        drop(self.stdin.take());
        self.wait()
    }

    fn wait(mut self) -> (i32, String) {
        while self.line().is_some() {}
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        // The thread that reads lets go at the end.
        wait_until("the end of standard error", || Arc::strong_count(&self.stderr) == 1);
        (code, self.stderr())
    }

    fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    fn stderr_says(&self, text: &str) {
        wait_until(&format!("standard error says {text:?}"), || self.stderr().contains(text));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Text that is in no other process's command line.
fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("87654.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes of this host have `text` in their command line.
fn alive(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}
