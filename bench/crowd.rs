//! A crowd at the gateway: many who watch, and many who talk, from one thread.
//!
//! Invariant: loopback only, bounded in number and time; each watcher counts every event it is sent.

use super::Stop;
use super::measure::Figures;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Streams at once.
pub(crate) const WATCHERS: usize = 1_000;

/// Chats a second, and for how many seconds.
pub(crate) const RATE: usize = 200;
const SECONDS: usize = 60;

/// All of them.
pub(crate) const CHATS: usize = RATE * SECONDS;

/// After how many of them the memory is looked at first.
const EARLY: usize = 10 * RATE;

/// What the model says.
pub(crate) const ANSWER: &str = "certainly, and at length";

/// What stands before each event of a turn; no byte of it but the first is a line feed.
const TURN: &[u8] = b"\nevent: turn";

/// A turn tells of its start and of its end.
const EVENTS: usize = 2 * CHATS;

/// The longest wait of a client.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the gateway is.
pub(crate) struct Address {
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// What the crowd saw.
pub(crate) struct Seen {
    pub(crate) errors: usize,
    pub(crate) missed: usize,
    pub(crate) latency: Figures,
    pub(crate) slowest: f64,
    pub(crate) memory_early: f64,
    pub(crate) memory_late: f64,
    pub(crate) took: Duration,
}

/// What each of the crowd writes down.
#[derive(Default)]
struct Notes {
    errors: Vec<String>,
    latencies: Vec<f64>,
    /// Events, stream by stream.
    events: Vec<usize>,
}

/// Lets the crowd in; `resident` tells the gateway's memory.
pub(crate) fn gather(address: &Address, resident: &dyn Fn() -> Result<f64, Stop>) -> Result<Seen, Stop> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, crowd(address, resident))
}

async fn crowd(address: &Address, resident: &dyn Fn() -> Result<f64, Stop>) -> Result<Seen, Stop> {
    let notes = Rc::new(RefCell::new(Notes { events: vec![0; WATCHERS], ..Notes::default() }));
    let mut watching = JoinSet::new();
    for watcher in 0..WATCHERS {
        let text = head(address, "GET /api/events", "");
        let mut stream = TcpStream::connect(("127.0.0.1", address.port)).await?;
        stream.write_all(text.as_bytes()).await?;
        // A client that has its first bytes is counted from now on.
        let mut first = [0; 4096];
        let count = timeout(PATIENCE, stream.read(&mut first)).await??;
        if !first[..count].starts_with(b"HTTP/1.1 200") {
            return Err("a stream was turned away".into());
        }
        watching.spawn_local(watch(stream, watcher, Rc::clone(&notes)));
    }
    let body = json!({"model": "main", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let text: Rc<str> = format!("{}{body}", head(address, "POST /v1/chat/completions", &body)).into();
    let began = Instant::now();
    let mut pace = interval(Duration::from_secs(1) / u32::try_from(RATE)?);
    // Late ones are made up for: the rate is what was promised.
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut talking = JoinSet::new();
    let mut memory_early = f64::NAN;
    for chat in 0..CHATS {
        pace.tick().await;
        if chat == EARLY {
            memory_early = resident()?;
        }
        talking.spawn_local(talk(address.port, Rc::clone(&text), Rc::clone(&notes)));
    }
    while talking.join_next().await.is_some() {}
    let took = began.elapsed();
    let memory_late = resident()?;
    // The last events are on their way.
    let waiting = Instant::now();
    while notes.borrow().events.iter().any(|seen| *seen < EVENTS) && waiting.elapsed() < PATIENCE {
        sleep(Duration::from_millis(20)).await;
    }
    watching.abort_all();
    let notes = notes.borrow();
    for why in notes.errors.iter().take(5) {
        super::say(&format!("crowd: {why}"));
    }
    Ok(Seen {
        errors: notes.errors.len(),
        missed: notes.events.iter().map(|seen| EVENTS.abs_diff(*seen)).sum(),
        slowest: notes.latencies.iter().copied().fold(0.0, f64::max),
        latency: Figures::new(notes.latencies.clone()),
        memory_early,
        memory_late,
        took,
    })
}

/// Counts events until the gateway or the measurement is over.
async fn watch(mut stream: TcpStream, watcher: usize, notes: Rc<RefCell<Notes>>) {
    let (mut buffer, mut matched) = ([0; 16 << 10], 0);
    loop {
        let count = match stream.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => count,
            Err(_) => break,
        };
        let mut found = 0;
        for byte in &buffer[..count] {
            matched = match TURN.get(matched) {
                Some(next) if next == byte => matched + 1,
                _ => usize::from(*byte == TURN[0]),
            };
            if matched == TURN.len() {
                found += 1;
                matched = 0;
            }
        }
        if let Some(events) = notes.borrow_mut().events.get_mut(watcher) {
            *events += found;
        }
    }
    notes.borrow_mut().errors.push(format!("stream {watcher} ended"));
}

async fn talk(port: u16, text: Rc<str>, notes: Rc<RefCell<Notes>>) {
    let began = Instant::now();
    let told = timeout(PATIENCE, exchange(port, &text)).await;
    let took = began.elapsed().as_nanos() as f64;
    let mut notes = notes.borrow_mut();
    match told {
        Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200") && answer.contains(ANSWER) => {
            notes.latencies.push(took)
        }
        Ok(Ok(answer)) => notes.errors.push(answer.chars().take(200).collect()),
        Ok(Err(why)) => notes.errors.push(why.to_string()),
        Err(_) => notes.errors.push("a chat was not answered in time".to_owned()),
    }
}

async fn exchange(port: u16, text: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn head(address: &Address, line: &str, body: &str) -> String {
    let length = body.len();
    let token = &address.token;
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )
}
