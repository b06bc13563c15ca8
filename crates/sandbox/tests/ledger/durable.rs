//! Onto the disk: by itself, in time, and at the end.
//!
//! Invariant: `HEAD` calls a record synced only after the disk has it, and soon after it was written.

use crate::support::{allowed, segment};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_testing::{PATIENCE, wait_until};
use std::fs;
use std::path::Path;
use std::time::Instant;

fn synced(dir: &Path) -> u64 {
    // Without the lock, a read may meet a write half-way.
    let read = || {
        let head = fs::read_to_string(dir.join("HEAD")).ok()?;
        let rest: serde_json::Value = serde_json::from_str(head.split_once('\n')?.1).ok()?;
        rest["synced"].as_u64()
    };
    (0..100).find_map(|_| read()).unwrap()
}

#[test]
fn records_are_synced_without_being_asked() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap();
    for seq in 1..=3 {
        ledger.append(&[allowed("a")]).unwrap();
        wait_until(&format!("record {seq} is synced"), || synced(home.path()) >= seq);
    }
}

#[test]
fn a_busy_writer_is_synced_all_the_same() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap();
    ledger.append(&[allowed("a")]).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut seen = 0;
    while seen < 3 {
        let before = synced(home.path());
        while synced(home.path()) == before {
            (0..100).for_each(|_| ledger.append(&[allowed("a")]).unwrap());
            assert!(Instant::now() < deadline, "a busy writer starved its sync");
        }
        seen += 1;
    }
}

#[test]
fn everything_is_synced_when_asked_and_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap();
    ledger.append(&[allowed("a"), allowed("b")]).unwrap();
    ledger.sync().unwrap();
    assert_eq!(synced(home.path()), 2);
    ledger.append(&[allowed("c")]).unwrap();
    drop(ledger);
    assert_eq!(synced(home.path()), 3);
}

#[test]
fn a_full_segment_is_synced_before_the_next_begins() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap().rotating_at(1);
    ledger.append(&[allowed("a")]).unwrap();
    ledger.append(&[allowed("b")]).unwrap();
    assert!(segment(home.path(), 2).exists());
    assert!(synced(home.path()) >= 1);
}
