//! `picoclaw mcp serve` beside the reference server for files, with one lean client for both.
//!
//! The client writes a line that was prepared and reads one line, without taking it apart. What that alone takes is
//! shown as the floor: the same client against a program that reads a file and writes it back twice, nothing else.
//! Both servers answer with the text twice as well, for people and for programs. For a listing there are two floors: with
//! reading the directory, which we leave out while it has not changed, and without.
//!
//! Invariant: every server is ended and waited for.

use super::Stop;
use super::instance::BenchInstance;
use super::measure::{Clock, Figures, take_turns, time};
use super::peers;
use super::process::resident;
use super::table::Table;
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The name under which this program is the floor.
pub(crate) const SELF: &str = "answer-with";

/// Where `scripts/peers.sh` puts the reference server.
const REFERENCE: &str = "node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

/// What the floor is called in the table.
const FLOOR: &str = "  the client's floor: a bare read, and as many bytes on one pipe each way";

const ENTRIES: usize = 10_000;
const STARTS: usize = 15;

/// A server and the client's end of it.
pub(crate) struct Server {
    child: Child,
    say: ChildStdin,
    hear: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Server {
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(crate) fn start(mut command: Command) -> Result<Self, Stop> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (say, hear) = (child.stdin.take(), child.stdout.take());
        let (Some(say), Some(hear)) = (say, hear) else { return Err("no pipes".into()) };
        Ok(Self { child, say, hear: BufReader::with_capacity(1 << 20, hear), line: Vec::new() })
    }

    /// One line there, one line back.
    pub(crate) fn turn(&mut self, request: &[u8]) -> Result<&[u8], Stop> {
        self.say.write_all(request)?;
        self.line.clear();
        self.hear.read_until(b'\n', &mut self.line)?;
        Ok(&self.line)
    }

    pub(crate) fn greet(&mut self) -> Result<(), Stop> {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        self.turn(&line(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})))?;
        self.say.write_all(&line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})))?;
        Ok(())
    }

    /// That the answer is one, before it is timed.
    fn try_out(&mut self, request: &[u8], least: usize) -> Result<(), Stop> {
        let answer = self.turn(request)?;
        let told: Value = serde_json::from_slice(answer)?;
        if answer.len() < least || told["result"]["isError"] == true || told["result"].is_null() {
            return Err(format!(
                "a server failed: {}",
                String::from_utf8_lossy(&answer[..answer.len().min(300)])
            )
            .into());
        }
        Ok(())
    }

    /// Resident memory now, in bytes.
    fn memory(&self) -> Result<f64, Stop> {
        resident(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both servers, call by call, start by start.
pub(crate) fn measured(picoclaw: &Path, instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let reference = reference();
    let Some(reference) = reference.filter(|path| path.exists()) else {
        table.skipped("`picoclaw mcp serve` / the reference server", "`scripts/peers.sh` could not fetch it");
        return Ok(());
    };
    let own = || served(picoclaw, &["mcp", "serve"], instance);
    let other = || {
        served(
            Path::new("node"),
            &[&reference.to_string_lossy(), &instance.workspace.to_string_lossy()],
            instance,
        )
    };
    let (mut ours, mut theirs) = (Server::start(own())?, Server::start(other())?);
    ours.greet()?;
    theirs.greet()?;
    let text = super::instance::content();
    for (name, size, rounds) in [("4 KiB", 4 << 10, 400), ("1 MiB", 1 << 20, 60)] {
        let content: String = text.chars().cycle().take(size).collect();
        let path = instance.workspace.join(format!("mcp-{size}.txt"));
        instance.call("write_file", json!({"path": path, "content": content}))?;
        let mut floor = Server::start(floor(&path)?)?;
        let asks = [call("read_file", &path), call("read_text_file", &path)];
        ours.try_out(&asks[0], size)?;
        theirs.try_out(&asks[1], size)?;
        let figures = take_turns(
            Clock::Wall,
            rounds,
            &mut [
                &mut || ours.turn(&asks[0]).map(drop),
                &mut || theirs.turn(&asks[1]).map(drop),
                &mut || floor.turn(&asks[0]).map(drop),
            ],
        )?;
        compared(table, &format!("`read_file` of {name}"), &figures);
        table.told(FLOOR, &figures[2].time());
    }
    listings(&mut ours, &mut theirs, instance, table)?;
    let (mine, peers) = (ours.memory()?, theirs.memory()?);
    let memory = format!("{:.3}× ({:.1} / {:.1} MB)", mine / peers, mine / 1e6, peers / 1e6);
    table.told("  resident memory after all that", &memory);
    drop((ours, theirs));

    let mut starts = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        starts[0].push(first_answer(own())?);
        starts[1].push(first_answer(other())?);
    }
    let figures = starts.map(Figures::new);
    compared(table, "  cold start to the first answer", &figures);
    Ok(())
}

/// A directory of ten thousand: as it is, changed before each call, and with a look at every file.
fn listings(
    ours: &mut Server,
    theirs: &mut Server,
    instance: &BenchInstance,
    table: &mut Table,
) -> Result<(), Stop> {
    let crowd = instance.workspace.join("mcp-crowd");
    for entry in 0..ENTRIES {
        instance
            .call("write_file", json!({"path": crowd.join(format!("file-{entry:05}.txt")), "content": ""}))?;
    }
    let asks = [call("list_dir", &crowd), call("list_directory", &crowd)];
    ours.try_out(&asks[0], ENTRIES * 10)?;
    theirs.try_out(&asks[1], ENTRIES * 10)?;
    let as_long = instance.workspace.join("mcp-as-long.txt");
    let half = "x".repeat(ours.turn(&asks[0])?.len() / 2);
    instance.call("write_file", json!({"path": as_long, "content": half}))?;
    let mut reading = floor(&as_long)?;
    reading.arg(&crowd);
    let (mut reading, mut floor) = (Server::start(reading)?, Server::start(floor(&as_long)?)?);
    let figures = take_turns(
        Clock::Wall,
        40,
        &mut [
            &mut || ours.turn(&asks[0]).map(drop),
            &mut || theirs.turn(&asks[1]).map(drop),
            &mut || reading.turn(&asks[0]).map(drop),
            &mut || floor.turn(&asks[0]).map(drop),
        ],
    )?;
    compared(table, "`list_dir` of 10,000 entries", &figures);
    table.told(FLOOR, &figures[3].time());
    table.told("  the same, with reading the directory", &figures[2].time());
    // Nothing is remembered here: an entry comes or goes before each call, in everybody's time.
    let entry = crowd.join("now-and-then.txt");
    let changed = take_turns(
        Clock::Wall,
        40,
        &mut [
            &mut || peers::come_or_go(&entry).and_then(|()| ours.turn(&asks[0]).map(drop)),
            &mut || peers::come_or_go(&entry).and_then(|()| theirs.turn(&asks[1]).map(drop)),
            &mut || peers::come_or_go(&entry).and_then(|()| reading.turn(&asks[0]).map(drop)),
        ],
    )?;
    let (ratio, own, peer) =
        (changed[0].over(&changed[1]), time(changed[0].median()), time(changed[1].median()));
    table.told(&format!("… one entry added or removed before each call ({own} / {peer})"), &ratio.times());
    table.told("  the client's floor, with reading the directory", &changed[2].time());
    // Which of its two listings people compare with is not said anywhere; this one also looks at every file.
    let sizes = call("list_directory_with_sizes", &crowd);
    theirs.try_out(&sizes, ENTRIES * 10)?;
    let looked = take_turns(
        Clock::Wall,
        20,
        &mut [&mut || ours.turn(&asks[0]).map(drop), &mut || theirs.turn(&sizes).map(drop)],
    )?;
    let (ratio, peer) = (looked[0].over(&looked[1]), time(looked[1].median()));
    table.told(&format!("… / its listing with sizes ({peer})"), &ratio.times());
    Ok(())
}

/// The floor: answers each line with the contents of a file, twice; where a directory is named too, it is read first.
pub(crate) fn answer_with(arguments: &[OsString]) -> Result<(), Stop> {
    let path = PathBuf::from(arguments.first().ok_or("no file")?);
    let mut input = std::io::stdin().lock();
    // By its handle: what `std` puts in between looks for line ends in every answer.
    let mut output = std::io::PipeWriter::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(directory) = arguments.get(1) {
            count(Path::new(directory))?;
        }
        let mut text = peers::read(&path)?;
        text.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        output.write_all(&text)?;
        text.push(b'\n');
        output.write_all(&text)?;
        line.clear();
    }
    Ok(())
}

/// Reads all names of a directory, with nothing in between.
fn count(directory: &Path) -> Result<usize, Stop> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty())?;
    let mut chunk = Vec::with_capacity(32 << 10);
    let mut entries = RawDir::new(directory, chunk.spare_capacity_mut());
    let mut count = 0;
    while let Some(entry) = entries.next() {
        entry?;
        count += 1;
    }
    Ok(count)
}

fn compared(table: &mut Table, what: &str, figures: &[Figures]) {
    let ratio = figures[0].over(&figures[1]);
    let (own, peer) = (time(figures[0].median()), time(figures[1].median()));
    let what = format!("{what}: `picoclaw mcp serve` / the reference server ({own} / {peer})");
    table.told(&what, &ratio.times());
}

fn reference() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "as above: the run script says where its peers are")]
    std::env::var("PICOCLAW_BENCH_PEERS").ok().map(|peers| Path::new(&peers).join(REFERENCE))
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn first_answer(command: Command) -> Result<f64, Stop> {
    let start = Instant::now();
    let mut server = Server::start(command)?;
    server.greet()?;
    Ok(start.elapsed().as_nanos() as f64)
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn served(program: &Path, arguments: &[&str], instance: &BenchInstance) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", &instance.home)
        .env("PICOCLAW_HOME", &instance.home);
    command
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn floor(path: &Path) -> Result<Command, Stop> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SELF).arg(path);
    Ok(command)
}

fn call(tool: &str, path: &Path) -> Vec<u8> {
    line(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"path": path}}}),
    )
}

pub(crate) fn line(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
