//! Durable writes: the system calls, counted by strace.
//!
//! The program runs itself under strace. Between two markers, which are system calls that nothing else makes, it
//! writes once; what its own thread did in between is counted.
//!
//! Invariant: what is counted is one write, in a process that has written before.

use super::Stop;
use super::instance::{BenchInstance, FILE, content};
use super::peers;
use super::say;
use super::table::Table;
use picoclaw_agent::call::Call;
use picoclaw_policy::Access;
use picoclaw_sandbox::root::{Overwrite, ProtectedInodes, Root, WriteContext};
use rustix::fs::{AtFlags, CWD, Mode, chmodat};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The first argument that makes this program write once.
pub(crate) const SELF: &str = "--write-once";

/// A path that does not exist, and that only the markers ask for.
const MARKER: &str = "/picoclaw-bench-marker";

/// What is written where: a name, the path, and the mode of the file that is replaced.
const SITUATIONS: &[(&str, &str, u32)] = &[
    ("at the top, 0600 replaced", "top.md", 0o600),
    ("a directory down, 0600 replaced", FILE, 0o600),
    ("a directory down, 0644 replaced", FILE, 0o644),
    ("a directory down, new file", "notes/new.md", 0),
];

/// Who writes.
const WRITERS: &[&str] = &["bare", "root", "call"];

/// Counts the system calls of each writer in each situation.
pub(crate) fn counted(place: &Path, table: &mut Table) -> Result<(), Stop> {
    for (number, (situation, _, _)) in SITUATIONS.iter().enumerate() {
        let mut counts = Vec::new();
        for writer in WRITERS {
            let home = place.join(format!("traced-{number}-{writer}"));
            match trace(&home, writer, number)? {
                Ok(calls) => counts.push(calls),
                Err(why) => {
                    table.skipped("system calls of a durable write", &why);
                    return Ok(());
                }
            }
        }
        let [bare, root, whole] = &counts[..] else { return Err("three writers".into()) };
        let total = |calls: &Calls| calls.values().sum::<usize>();
        let added = total(root) as f64 - total(bare) as f64;
        let what = format!("system calls of a write, {situation}: a Root over bare");
        let measured = format!("{added} ({} over {})", total(root), total(bare));
        table.told(&what, &measured);
        let added = total(whole) as f64 - total(bare) as f64;
        table.told("  with verdict and two ledger records", &format!("{added} ({})", total(whole)));
        say(&format!(
            "a durable write, {situation}
  bare: {}
  a Root: {}
  whole call: {}
",
            list(bare),
            list(root),
            list(whole)
        ));
    }
    Ok(())
}

/// How often each system call was made.
type Calls = BTreeMap<String, usize>;

fn list(calls: &Calls) -> String {
    let each: Vec<String> = calls.iter().map(|(name, count)| format!("{name} {count}")).collect();
    each.join(", ")
}

/// Runs one writer under strace; the inner error says why that was not possible.
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
fn trace(home: &Path, writer: &str, situation: usize) -> Result<Result<Calls, String>, Stop> {
    let log = home.with_extension("strace");
    let ran = std::process::Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .arg(std::env::current_exe()?)
        .args([SELF, writer, &situation.to_string()])
        .arg(home)
        .output();
    let ran = match ran {
        Ok(ran) => ran,
        Err(why) => return Ok(Err(format!("strace cannot be run: {why}"))),
    };
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        return Ok(Err(format!("strace failed: {}", said.lines().last().unwrap_or_default())));
    }
    Ok(Ok(between_markers(&peers::text(&log)?)))
}

/// Counts what the thread of the markers did between them.
fn between_markers(log: &str) -> Calls {
    let mut calls = Calls::new();
    let mut watched = None;
    for line in log.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if call.contains(MARKER) {
            if watched.is_some() {
                break;
            }
            watched = Some(thread);
        } else if watched == Some(thread)
            && let Some((name, _)) = call.split_once('(')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    calls
}

/// Writes, marks, writes once more, marks.
pub(crate) fn one_write(arguments: &[OsString]) -> Result<(), Stop> {
    let [writer, situation, home] = arguments else { return Err("usage: WRITER SITUATION HOME".into()) };
    let number: usize = situation.to_str().unwrap_or_default().parse()?;
    let (_, path, mode) = SITUATIONS.get(number).ok_or("no such situation")?;
    let instance = BenchInstance::create(Path::new(home))?;
    let text = content();
    let full = instance.workspace.join(path);
    if writer == "call" {
        let arguments = json!({"path": path, "content": text});
        let call = Call { tool: "write_file".to_owned(), arguments, subject: instance.subject.clone() };
        return marked(&full, *mode, &|| instance.walk(&call).map(drop));
    }
    let BenchInstance { workspace, zones, locks, warden, .. } = instance;
    // Its ledger's thread would put system calls of its own between ours.
    drop(warden);
    if writer == "root" {
        let root = Root::open(&workspace)?;
        let (write_context, protected) =
            (WriteContext::new(&locks, WriteContext::LOCK_TIMEOUT)?, ProtectedInodes::of(&zones));
        return marked(&full, *mode, &|| {
            let place = root.locate(Path::new(path), Access::Write, &protected)?;
            Ok(place.write(text.as_bytes(), Overwrite::Yes, &write_context)?)
        });
    }
    let (above, name) = (full.parent().unwrap_or(&full), full.file_name().unwrap_or_default());
    let name = name.to_string_lossy();
    let top = peers::directory(&workspace)?;
    marked(&full, *mode, &|| match above == workspace {
        // A program that works at the top of its own directory holds a handle on it, as a Root does.
        true => peers::replace(&top, &name, text.as_bytes()),
        false => peers::replace(&peers::directory(above)?, &name, text.as_bytes()),
    })
}

/// Writes once for practice, gives the file the mode it should be found with, and writes between two markers.
fn marked(file: &Path, mode: u32, write: &dyn Fn() -> Result<(), Stop>) -> Result<(), Stop> {
    write()?;
    match mode {
        0 => rustix::fs::unlinkat(CWD, file, AtFlags::empty())?,
        mode => chmodat(CWD, file, Mode::from_raw_mode(mode), AtFlags::empty())?,
    }
    mark();
    let written = write();
    mark();
    written
}

fn mark() {
    // It is not there; being asked for is all it is for.
    let _ = rustix::fs::access(MARKER, rustix::fs::Access::EXISTS);
}
