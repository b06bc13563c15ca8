//! Sudden ends: what a killed writer or a power cut leaves is put in order, and never called tampering.
//!
//! Invariant: repair removes only what no finished append wrote, or what had not been synced.

use crate::support::{
    allowed, assert_intact, assert_tampered, edit_head, filled, in_memory, intents, report, restarted,
    segment,
};
use picoclaw_sandbox::ledger::{Integrity, Ledger};
use std::fs;
use std::io::Write;
use std::path::Path;

fn add(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn append(dir: &Path, intent: &str) -> Result<(), picoclaw_sandbox::ledger::LedgerError> {
    Ledger::open(dir)?.append(&[allowed(intent)])
}

#[test]
fn an_unfinished_line_is_torn_and_the_next_writer_removes_it() {
    let home = in_memory();
    filled(home.path(), 3, 1 << 20);
    let path = segment(home.path(), 1);
    let whole = fs::read_to_string(&path).unwrap();
    add(&path, b"{\"seq\":4,\"time\":\"20");
    let torn = report(home.path());
    assert_eq!((torn.integrity, torn.records), (Integrity::Torn, 3));
    assert_eq!(torn.fault.unwrap().line, Some(4));
    append(home.path(), "next").unwrap();
    assert_intact(home.path(), 4);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&whole), "finished records were touched");
}

#[test]
fn records_that_head_does_not_know_yet_are_kept() {
    let home = in_memory();
    filled(home.path(), 3, 1 << 20);
    let before = fs::read(home.path().join("HEAD")).unwrap();
    append(home.path(), "killed before HEAD").unwrap();
    fs::write(home.path().join("HEAD"), before).unwrap();
    assert_intact(home.path(), 4);
    append(home.path(), "next").unwrap();
    assert_intact(home.path(), 5);
    assert_eq!(intents(home.path())[3..], ["killed before HEAD", "next"]);
}

#[test]
fn a_running_writer_repairs_after_another_too() {
    let home = in_memory();
    let ledger = Ledger::open(home.path()).unwrap();
    ledger.append(&[allowed("one")]).unwrap();
    add(&segment(home.path(), 1), b"{\"half");
    ledger.append(&[allowed("two")]).unwrap();
    assert_intact(home.path(), 2);
}

#[test]
fn what_a_power_cut_took_is_torn_if_it_had_not_been_synced() {
    type Loss = fn(&Path);
    let losses: [(&str, Loss); 5] = [
        ("whole records", |path| {
            let text = fs::read_to_string(path).unwrap();
            let kept: String = text.split_inclusive('\n').take(4).collect();
            fs::write(path, kept).unwrap();
        }),
        ("half a record", |path| {
            let text = fs::read(path).unwrap();
            fs::write(path, &text[..text.len() - 300]).unwrap();
        }),
        ("blocks that became zeros, at the right length", |path| {
            let mut text = fs::read(path).unwrap();
            let from = text.len() - 700;
            text[from..].fill(0);
            fs::write(path, text).unwrap();
        }),
        ("a hole before a block that arrived", |path| {
            let mut text = fs::read(path).unwrap();
            let from = text.len() - 900;
            text[from..from + 300].fill(0);
            fs::write(path, text).unwrap();
        }),
        ("nothing at all", |_| {}),
    ];
    for (why, loss) in losses {
        let home = in_memory();
        filled(home.path(), 6, 1 << 20);
        restarted(home.path(), 3);
        loss(&segment(home.path(), 1));
        let torn = report(home.path());
        let want = if why == "nothing at all" { Integrity::Intact } else { Integrity::Torn };
        assert_eq!(torn.integrity, want, "{why}: {:?}", torn.fault);
        assert!(torn.records >= 3, "{why}");
        append(home.path(), "after").unwrap_or_else(|e| panic!("{why}: {e}"));
        assert_intact(home.path(), torn.records + 1);
    }
}

#[test]
fn what_had_been_synced_is_not_lost_to_a_power_cut() {
    let home = in_memory();
    filled(home.path(), 6, 1 << 20);
    restarted(home.path(), 5);
    let path = segment(home.path(), 1);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.split_inclusive('\n').take(4).collect::<String>()).unwrap();
    assert_tampered(home.path(), "record 5 had been synced");
    let error = append(home.path(), "after").unwrap_err();
    assert!(error.to_string().contains("ledger"), "{error}");
}

#[test]
fn a_power_cut_right_after_a_new_segment_finds_the_chain_in_the_one_before() {
    let home = in_memory();
    filled(home.path(), 4, 1500);
    let last = (1..).take_while(|n| segment(home.path(), *n).exists()).last().unwrap();
    let lost = fs::read_to_string(segment(home.path(), last)).unwrap().lines().count() as u64;
    restarted(home.path(), 4 - lost);
    fs::write(segment(home.path(), last), "").unwrap();
    assert_eq!(report(home.path()).integrity, Integrity::Torn);
    append(home.path(), "after").unwrap();
    assert_intact(home.path(), 4 - lost + 1);
}

#[test]
fn a_tail_that_does_not_fit_is_not_continued() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 7] = [
        ("records are cut off", |dir| {
            let text = fs::read_to_string(segment(dir, 1)).unwrap();
            fs::write(segment(dir, 1), text.split_inclusive('\n').take(2).collect::<String>()).unwrap();
        }),
        ("a foreign line is at the end", |dir| add(&segment(dir, 1), b"{}\n")),
        ("the segment is gone", |dir| fs::remove_file(segment(dir, 1)).unwrap()),
        ("HEAD is gone", |dir| fs::remove_file(dir.join("HEAD")).unwrap()),
        ("HEAD is garbage", |dir| fs::write(dir.join("HEAD"), "garbage").unwrap()),
        ("HEAD is empty", |dir| fs::write(dir.join("HEAD"), "").unwrap()),
        ("HEAD names a segment that is not there", |dir| edit_head(dir, |head| head["segment"] = 9.into())),
    ];
    for (why, change) in changes {
        let home = in_memory();
        filled(home.path(), 3, 1 << 20);
        change(home.path());
        let tree = || -> Vec<_> {
            let mut all: Vec<_> = fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().path()).collect();
            all.sort();
            all.into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect()
        };
        let before = tree();
        let error = append(home.path(), "more").expect_err(why);
        assert!(error.to_string().contains("ledger"), "{why}: {error}");
        assert!(!error.hint().is_empty());
        assert_eq!(before, tree(), "{why}: evidence was changed");
    }
}

#[test]
fn a_ledger_taken_away_under_a_running_writer_is_noticed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("removed", |dir| fs::remove_dir_all(dir).unwrap()),
        ("moved", |dir| fs::rename(dir, dir.with_extension("old")).unwrap()),
        ("made anew", |dir| {
            fs::rename(dir, dir.with_extension("old")).unwrap();
            filled(dir, 1, 1 << 20);
        }),
        ("its segment removed", |dir| fs::remove_file(segment(dir, 1)).unwrap()),
    ];
    for (why, change) in changes {
        let home = in_memory();
        let dir = home.path().join("ledger");
        let ledger = Ledger::open(&dir).unwrap();
        ledger.append(&[allowed("one")]).unwrap();
        change(&dir);
        let error = ledger.append(&[allowed("two")]).expect_err(why);
        assert!(error.to_string().contains("ledger"), "{why}: {error}");
    }
}
