//! Several processes at once, and processes that are killed.
//!
//! Invariant: what an append acknowledged is in the ledger exactly once, whichever process was killed.

use crate::support::{allowed, assert_intact, intents, report, segment};
use picoclaw_sandbox::ledger::{Integrity, Ledger, Reader};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const DIR: &str = "LEDGER_TEST_DIR";
const NAME: &str = "LEDGER_TEST_WRITER";
const COUNT: &str = "LEDGER_TEST_COUNT";
const ROTATE: &str = "LEDGER_TEST_ROTATE";

/// Not a rule but a process: the tests below start this one anew as a writer that notes, after each append has
/// returned, what it had appended.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn a_writer() {
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().unwrap());
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let name = std::env::var(NAME).unwrap_or_default();
    let ledger = Ledger::open(&dir).unwrap().rotating_at(number(ROTATE, 1 << 24));
    let acknowledged = dir.with_extension(format!("ack-{name}"));
    let mut acknowledged = fs::OpenOptions::new().create(true).append(true).open(acknowledged).unwrap();
    for n in 0..number(COUNT, 10) {
        let intent = format!("{name}:{}:{n}", std::process::id());
        ledger.append(&[allowed(&intent), allowed(&intent).finished("ok", Duration::ZERO)]).unwrap();
        acknowledged.write_all(format!("{intent}\n").as_bytes()).unwrap();
    }
    assert_ne!(report(&dir).integrity, Integrity::Tampered);
}

fn writer(dir: &Path, name: &str, count: u64, rotate: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_writer", "--ignored", "--quiet"])
        .env(DIR, dir)
        .env(NAME, name)
        .env(COUNT, count.to_string())
        .env(ROTATE, rotate.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// What writers noted after their appends had returned.
fn acknowledged(home: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    let notes =
        files.filter(|path| path.extension().is_some_and(|ext| ext.to_string_lossy().starts_with("ack-")));
    // A line that was cut by a kill was not noted.
    let whole = |path| {
        fs::read_to_string(path)
            .unwrap()
            .split_inclusive('\n')
            .filter_map(|l| l.strip_suffix('\n').map(str::to_owned))
            .collect::<Vec<_>>()
    };
    notes.flat_map(whole).collect()
}

fn eight_writers(rotate: u64) {
    const EACH: u64 = 250;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    let writers: Vec<Child> = (0..8).map(|n| writer(&dir, &format!("w{n}"), EACH, rotate)).collect();
    for mut child in writers {
        assert!(child.wait().unwrap().success());
    }
    assert_intact(&dir, 8 * EACH * 2);
    let intents = intents(&dir);
    for pair in intents.chunks(2) {
        assert_eq!(pair[0], pair[1], "one append was torn apart by another");
    }
    let once: BTreeSet<_> = intents.iter().cloned().collect();
    assert_eq!(once.len() as u64, 8 * EACH);
    assert_eq!(once, acknowledged(home.path()));
    assert_eq!(
        rotate < 1 << 20,
        segment(&dir, 20).exists(),
        "the segments are as small as they were meant to be"
    );
}

#[test]
fn eight_processes_lose_nothing() {
    eight_writers(1 << 24);
}

#[test]
fn eight_processes_lose_nothing_while_segments_turn_over() {
    eight_writers(60_000);
}

#[test]
fn eight_threads_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap().rotating_at(5_000);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                (0..100).for_each(|i| ledger.append(&[allowed(&format!("{n}:{i}"))]).unwrap())
            });
        }
    });
    assert_intact(home.path(), 800);
}

#[test]
fn verifying_while_others_write_never_cries_wolf() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    let mut writers: Vec<Child> = (0..2).map(|n| writer(&dir, &format!("w{n}"), 1500, 30_000)).collect();
    let mut looks = 0;
    while writers.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        let report = report(&dir);
        assert_ne!(report.integrity, Integrity::Tampered, "{report:?}");
        if let Some(reader) = Reader::open(&dir).unwrap() {
            reader.head().unwrap();
        }
        looks += 1;
    }
    assert!(looks > 3, "the writers were done before anybody looked");
    assert_intact(&dir, 2 * 1500 * 2);
}

#[test]
fn a_killed_writer_takes_nothing_with_it() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    let seed = std::process::id() as u64 ^ Instant::now().elapsed().as_nanos() as u64;
    for round in 0..25u64 {
        let mut writers: Vec<Child> =
            (0..3).map(|n| writer(&dir, &format!("r{round}w{n}"), u64::MAX, 40_000)).collect();
        // The kill comes at some moment of the writing, not before it.
        let begun = || acknowledged(home.path()).iter().any(|line| line.starts_with(&format!("r{round}w")));
        let deadline = Instant::now() + Duration::from_secs(30);
        while !begun() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let spin = Instant::now() + Duration::from_micros((seed.wrapping_mul(round + 1)) % 3000);
        while Instant::now() < spin {}
        for child in &mut writers {
            child.kill().unwrap();
        }
        for child in &mut writers {
            child.wait().unwrap();
        }
        let report = report(&dir);
        assert_ne!(report.integrity, Integrity::Tampered, "round {round}: {report:?}");
        let there: BTreeSet<String> = {
            let whole = report.records as usize;
            complete_intents(&dir).into_iter().take(whole).collect()
        };
        let missing: Vec<_> = acknowledged(home.path()).difference(&there).cloned().collect();
        assert!(missing.is_empty(), "round {round}: acknowledged and lost: {missing:?}");
    }
    Ledger::open(&dir).unwrap().append(&[allowed("the survivor")]).unwrap();
    assert_eq!(report(&dir).integrity, Integrity::Intact);
}

/// The intents of all whole lines.
fn complete_intents(dir: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for number in (1..).take_while(|n| segment(dir, *n).exists()) {
        let text = fs::read_to_string(segment(dir, number)).unwrap();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            out.push(record["intent"].as_str().unwrap().to_owned());
        }
    }
    out
}
