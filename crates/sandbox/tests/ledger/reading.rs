//! Reading back without touching anything.
//!
//! Invariant: a reader sees every finished line once, in order, across segments and while others write.

use crate::support::{allowed, filled, segment};
use picoclaw_sandbox::ledger::{Anchor, Integrity, Ledger, Reader, Records, verify};
use std::fs;
use std::io::Write;

fn seqs(records: &mut Records) -> Vec<u64> {
    std::iter::from_fn(|| records.next().unwrap()).map(|stored| stored.record.unwrap().seq).collect()
}

#[test]
fn a_missing_ledger_is_read_as_none_and_not_made() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    assert!(Reader::open(&dir).unwrap().is_none());
    let report = verify(&dir, Anchor::Unknown).unwrap();
    assert_eq!((report.integrity, report.records), (Integrity::Intact, 0));
    assert!(!dir.exists());
}

#[test]
fn the_last_records_are_found_across_segments() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 10, 1000);
    assert!(segment(home.path(), 3).exists());
    for (why, count, want) in [
        ("none", 0, vec![]),
        ("one", 1, vec![10]),
        ("more than a segment has", 7, (4..=10).collect::<Vec<u64>>()),
        ("more than there are", 100, (1..=10).collect()),
    ] {
        let reader = Reader::open(home.path()).unwrap().unwrap();
        assert_eq!(seqs(&mut reader.last(count).unwrap()), want, "{why}");
    }
    let reader = Reader::open(home.path()).unwrap().unwrap();
    assert_eq!(seqs(&mut reader.all().unwrap()), (1..=10).collect::<Vec<u64>>());
}

#[test]
fn a_reader_goes_on_where_it_stopped() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap().rotating_at(900);
    ledger.append(&[allowed("a")]).unwrap();
    let mut records = Reader::open(home.path()).unwrap().unwrap().last(5).unwrap();
    assert_eq!(seqs(&mut records), [1]);
    for n in 2..20 {
        ledger.append(&[allowed("b")]).unwrap();
        assert_eq!(seqs(&mut records), [n], "across a new segment too");
    }
    assert!(segment(home.path(), 3).exists());
}

#[test]
fn half_a_line_is_waited_for() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 2, 1 << 20);
    let path = segment(home.path(), 1);
    let text = fs::read_to_string(&path).unwrap();
    let cut = text.len() - 100;
    fs::write(&path, &text[..cut]).unwrap();
    let mut records = Reader::open(home.path()).unwrap().unwrap().all().unwrap();
    assert_eq!(seqs(&mut records), [1]);
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&text.as_bytes()[cut..]).unwrap();
    assert_eq!(seqs(&mut records), [2]);
}

#[test]
fn what_cannot_be_read_is_said_and_passed_over() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 3, 1 << 20);
    let path = segment(home.path(), 1);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"seq\":2", "\"seq\":7", 1)).unwrap();
    let mut records = Reader::open(home.path()).unwrap().unwrap().all().unwrap();
    let all: Vec<_> = std::iter::from_fn(|| records.next().unwrap()).collect();
    assert_eq!(all.len(), 3);
    assert_eq!(all[1].record, Err("its hash is not the hash of its contents"));
    assert_eq!((all[1].segment, all[1].line), (1, 2));
}
