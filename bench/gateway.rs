//! The gateway: from its start to `/ready`, what it holds while idle, and what a crowd does to it.
//!
//! Invariant: every gateway is ended as an operator would end it, and waited for.

use super::Stop;
use super::crowd::{self, Address};
use super::instance::BenchInstance;
use super::measure::{Figures, time};
use super::peers;
use super::process::{command, resident};
use super::table::Table;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{Read, Write};
#[expect(clippy::disallowed_types, reason = "a measurement is a client, on loopback")]
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Starts that are timed.
const STARTS: usize = 30;

/// How long a start may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// A gateway that runs.
struct Gateway {
    child: std::process::Child,
    port: u16,
}

/// Start, memory, size, and the crowd.
pub(crate) fn measured(picoclaw: &Path, instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let size = rustix::fs::stat(picoclaw)?.st_size as f64;
    table.told("gateway: size of the binary", &format!("{:.2} MB", size / 1e6));
    let mut starts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let began = Instant::now();
        let gateway = Gateway::start(picoclaw, instance)?;
        starts.push(began.elapsed().as_nanos() as f64);
        gateway.end()?;
    }
    let starts = Figures::new(starts);
    table.told("  start to `/ready`, without MCP servers", &starts.time());

    let gateway = Gateway::start(picoclaw, instance)?;
    // Past its first heartbeat.
    std::thread::sleep(Duration::from_secs(2));
    let idle = gateway.resident()?;
    table.told("  resident memory, idle", &format!("{:.2} MB", idle / 1e6));
    gateway.end()?;
    under_load(picoclaw, instance, table)
}

fn under_load(picoclaw: &Path, instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let script = instance.home.join("replies.jsonl");
    let answers = format!("{}\n", json!({"content": crowd::ANSWER})).repeat(crowd::CHATS + 100);
    peers::replace(&peers::directory(&instance.home)?, "replies.jsonl", answers.as_bytes())?;
    let config = json!({
        "version": 3,
        "agents": {"defaults": {"model_name": "script", "max_parallel_turns": 64}},
        "heartbeat": {"enabled": false},
        "model_list": [{
            "model_name": "script",
            "model": "scripted/script",
            "api_base": format!("file://{}", script.display()),
        }],
    });
    peers::replace(&peers::directory(&instance.home)?, "config.json", config.to_string().as_bytes())?;
    let gateway = Gateway::start(picoclaw, instance)?;
    let recorded: serde_json::Value =
        serde_json::from_str(&peers::text(&instance.home.join(".picoclaw.pid"))?)?;
    let token = recorded["token"].as_str().ok_or("no token")?.to_owned();
    let seen = crowd::gather(&Address { port: gateway.port, token }, &|| gateway.resident())?;
    let spent = gateway.processor()?;
    let what = format!("  {} event streams and {} chats a second for a minute", crowd::WATCHERS, crowd::RATE);
    table.told(&format!("{what}: errors"), &seen.errors);
    table.told("  … events that a stream missed", &seen.missed);
    let (first, last) = (seen.memory_early, seen.memory_late);
    let shown = format!("{:.2} MB on {:.1} MB", (last - first) / 1e6, first / 1e6);
    table.told("  … memory added after the first ten seconds", &shown);
    table.told("  … a chat, from connecting to the last byte", &seen.latency.time());
    table
        .told("  … processor time", &format!("{:.0} % of one core", 100.0 * spent / seen.took.as_secs_f64()));
    let slowest = time(seen.slowest);
    table.told("  … the slowest chat", &slowest);
    gateway.end()
}

impl Gateway {
    /// Starts one, and waits until it is ready.
    #[expect(clippy::disallowed_types, reason = "as above")]
    fn start(picoclaw: &Path, instance: &BenchInstance) -> Result<Self, Stop> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = command(picoclaw, instance, &["gateway", "--port", &port.to_string()]);
        let gateway = Self { child: command.spawn()?, port };
        let began = Instant::now();
        while !gateway.is_ready() {
            if began.elapsed() > PATIENCE {
                return Err("the gateway does not become ready".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(gateway)
    }

    #[expect(clippy::disallowed_types, reason = "as above")]
    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer.starts_with("HTTP/1.1 200"))
        };
        ask().unwrap_or(false)
    }

    fn resident(&self) -> Result<f64, Stop> {
        resident(self.child.id())
    }

    /// Seconds of processor time so far, of every thread.
    fn processor(&self) -> Result<f64, Stop> {
        let stat = peers::text(Path::new(&format!("/proc/{}/stat", self.child.id())))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Ok((ticks(11).ok_or("no time")? + ticks(12).ok_or("no time")?) / 100.0)
    }

    fn end(mut self) -> Result<(), Stop> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("a child without a number")?;
        kill_process(pid, Signal::TERM)?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the gateway ended with {status}").into()) }
    }
}
