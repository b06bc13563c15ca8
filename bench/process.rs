//! Whole processes: from start to end, beside `cat` and `/bin/true`.
//!
//! Wall time is what a person waits for; processor time is what stays when the machine is busy with others.
//!
//! Invariant: every child is waited for, and sees nothing of the environment but what is set here.

use super::Stop;
use super::instance::{BenchInstance, FILE, SIZE, file_system};
use super::measure::{Clock, Figures, alone, time};
use super::peers;
use super::table::Table;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::json;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 250;

/// Runs of one program: wall and processor nanoseconds, round by round.
pub(crate) struct Runs {
    pub(crate) wall: Figures,
    pub(crate) processor: Figures,
}

/// `picoclaw tool read_file` and `picoclaw version` beside their peers; size and memory.
pub(crate) fn measured(
    picoclaw: &Path,
    instance: &BenchInstance,
    lived_in: &BenchInstance,
    table: &mut Table,
) -> Result<(), Stop> {
    for instance in [instance, lived_in] {
        let file = instance.workspace.join(FILE);
        let mut tool =
            command(picoclaw, instance, &["tool", "read_file", &json!({"path": FILE}).to_string()]);
        let mut cat = command(Path::new("cat"), instance, &[&file.to_string_lossy()]);
        let [own, peer] = race([&mut tool, &mut cat])?;
        let ratio = own.wall.over(&peer.wall);
        let on = file_system(&instance.home);
        let (own_time, peer_time) = (time(own.wall.median()), time(peer.wall.median()));
        let what = format!("`picoclaw tool read_file` / `cat`, {on} ({own_time} / {peer_time})");
        table.told(&what, &ratio.times());
        table.told("  processor time alone", &own.processor.over(&peer.processor).times());
    }
    let line = "a line as long as a record is, or nearly so\n".repeat(10);
    let file = peers::appended(&lived_in.workspace.join("notes/synced.txt"))?;
    let synced = alone(Clock::Wall, 50, &mut || peers::append_synced(&file, line.as_bytes()))?;
    let on = file_system(&lived_in.home);
    table.told(&format!("  for comparison: appending a line on {on} and syncing it"), &synced.time());
    let mut version = command(picoclaw, instance, &["version"]);
    let mut nothing = command(Path::new("/bin/true"), instance, &[]);
    let [own, peer] = race([&mut version, &mut nothing])?;
    let (own_time, peer_time) = (time(own.wall.median()), time(peer.wall.median()));
    table.told(
        &format!("`picoclaw version` / `/bin/true` ({own_time} / {peer_time})"),
        &own.wall.over(&peer.wall).times(),
    );
    table.told("  processor time alone", &own.processor.over(&peer.processor).times());

    let size = rustix::fs::stat(picoclaw)?.st_size;
    table.told("size of the binary", &format!("{:.2} MB", size as f64 / 1e6));
    let long = "notes/long.md";
    let text = super::instance::content().repeat(4);
    instance.call("write_file", json!({"path": long, "content": text}))?;
    let full = instance.workspace.join(long);
    let own =
        memory(command(picoclaw, instance, &["tool", "read_file", &json!({"path": long}).to_string()]))?;
    let peer = memory(command(Path::new("cat"), instance, &[&full.to_string_lossy()]))?;
    table.told("largest resident memory of `picoclaw tool read_file`", &own);
    table.told("  of `cat`", &peer);
    Ok(())
}

#[expect(clippy::disallowed_types, reason = "as above")]
pub(crate) fn command(program: &Path, instance: &BenchInstance, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", &instance.home)
        .env("PICOCLAW_HOME", &instance.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Lets both programs take turns.
#[expect(clippy::disallowed_types, reason = "as above")]
pub(crate) fn race(programs: [&mut Command; 2]) -> Result<[Runs; 2], Stop> {
    let mut figures = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for round in 0..ROUNDS + 2 {
        for step in 0..2 {
            let who = (round + step) % 2;
            let (wall, processor) = one(programs[who])?;
            // The first two rounds fetch both programs into memory.
            if round >= 2 {
                figures[who].0.push(wall);
                figures[who].1.push(processor);
            }
        }
    }
    Ok(figures.map(|(wall, processor)| Runs { wall: Figures::new(wall), processor: Figures::new(processor) }))
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn one(program: &mut Command) -> Result<(f64, f64), Stop> {
    let start = Instant::now();
    let mut child = program.spawn()?;
    let id = i32::try_from(child.id())?;
    let pid = Pid::from_raw(id).ok_or("a child without a number")?;
    // Ended but not yet taken away: its account can still be read.
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let wall = start.elapsed().as_nanos() as f64;
    let account = peers::text(Path::new(&format!("/proc/{id}/schedstat")));
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{program:?} ended with {status}").into());
    }
    let processor = account.ok().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(f64::NAN);
    Ok((wall, processor))
}

/// The most memory that a program had resident by the time it has begun to print.
///
/// Its output is longer than the pipe takes, so it waits in the middle of its `write` and can be looked at. What `wait4`
/// tells would also count what the parent had resident before the `exec`.
#[expect(clippy::disallowed_types, reason = "as above")]
fn memory(mut program: Command) -> Result<String, Stop> {
    let (mut reader, writer) = std::io::pipe()?;
    rustix::pipe::fcntl_setpipe_size(writer.as_fd(), SIZE)?;
    let mut child = program.stdout(writer).spawn()?;
    // The command keeps a copy of the writing end, and with it the pipe open.
    drop(program);
    let mut first = [0];
    reader.read_exact(&mut first)?;
    let status = peers::text(Path::new(&format!("/proc/{}/status", child.id())));
    reader.read_to_end(&mut Vec::new())?;
    child.wait()?;
    let status = status?;
    let megabytes =
        |name| bytes(&status, name).map_or_else(|| "?".to_owned(), |bytes| format!("{:.2} MB", bytes / 1e6));
    Ok(format!("{} (heap and stack {})", megabytes("VmHWM:"), megabytes("RssAnon:")))
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(id: u32) -> Result<f64, Stop> {
    let status = peers::text(Path::new(&format!("/proc/{id}/status")))?;
    Ok(bytes(&status, "VmRSS:").ok_or("no VmRSS")?)
}

/// A field of `/proc/PID/status` that counts KiB, in bytes.
fn bytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: f64 = line.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    Some(kib * 1024.0)
}
