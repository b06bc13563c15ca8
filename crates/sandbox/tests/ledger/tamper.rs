//! Every change by hand is found.
//!
//! Invariant: what [`verify`] calls intact is byte for byte what was written.

use crate::support::{
    assert_intact, assert_tampered, edit_head, filled, hex, in_memory, lines, rehashed, report, segment,
};
use picoclaw_sandbox::ledger::{Anchor, Hash, Integrity, verify};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const RECORDS: usize = 14;

fn ledger() -> tempfile::TempDir {
    let home = in_memory();
    filled(home.path(), RECORDS, 2000);
    assert!(segment(home.path(), 3).exists());
    assert_intact(home.path(), RECORDS as u64);
    home
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(path, lines.into_iter().map(|line| line + "\n").collect::<String>()).unwrap();
}

#[test]
fn every_change_to_the_records_is_found() {
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change); 9] = [
        ("a record is edited", |lines| lines[1] = lines[1].replace("/w/", "/x/")),
        ("a record is edited and hashed anew", |lines| {
            lines[1] = rehashed(&lines[1], |body| body.replace("/w/", "/x/"));
        }),
        ("a record is deleted", |lines| drop(lines.remove(1))),
        ("a record is doubled", |lines| lines.insert(1, lines[1].clone())),
        ("two records are swapped", |lines| lines.swap(0, 1)),
        ("an empty line is added", |lines| lines.insert(1, String::new())),
        ("white space is added", |lines| lines[1].push(' ')),
        ("white space is added and hashed anew", |lines| {
            lines[1] = rehashed(&lines[1], |body| body.replacen(':', ": ", 1));
        }),
        ("a key is doubled and hashed anew", |lines| {
            lines[1] = rehashed(&lines[1], |body| body.replacen("\"tool\"", "\"tool\":\"x\",\"tool\"", 1));
        }),
    ];
    for number in 1..=3 {
        for (why, change) in changes {
            let home = ledger();
            rewrite(&segment(home.path(), number), change);
            let fault = assert_tampered(home.path(), &format!("{why}, in segment {number}"));
            // Past an edit that is hashed anew it is the next record, or HEAD, that does not fit.
            assert!(
                fault.file.ends_with(&format!("{number}.jsonl")) || why.contains("anew"),
                "{why}: {fault:?}"
            );
        }
    }
}

#[test]
fn every_change_to_the_files_is_found() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 17] = [
        ("the last record is cut off", |dir| rewrite(&segment(dir, 3), |lines| drop(lines.pop()))),
        ("the last segment is emptied", |dir| fs::write(segment(dir, 3), "").unwrap()),
        ("the last segment is removed", |dir| fs::remove_file(segment(dir, 3)).unwrap()),
        ("a middle segment is removed", |dir| fs::remove_file(segment(dir, 2)).unwrap()),
        ("the first segment is removed", |dir| fs::remove_file(segment(dir, 1)).unwrap()),
        ("the first segments are removed and the rest renamed", |dir| {
            fs::remove_file(segment(dir, 1)).unwrap();
            fs::rename(segment(dir, 2), segment(dir, 1)).unwrap();
            fs::rename(segment(dir, 3), segment(dir, 2)).unwrap();
        }),
        ("two segments are swapped", |dir| {
            fs::rename(segment(dir, 1), dir.join("x")).unwrap();
            fs::rename(segment(dir, 2), segment(dir, 1)).unwrap();
            fs::rename(dir.join("x"), segment(dir, 2)).unwrap();
        }),
        ("the last line is cut in half although it had been synced", |dir| {
            let text = fs::read(segment(dir, 3)).unwrap();
            fs::write(segment(dir, 3), &text[..text.len() - 20]).unwrap();
        }),
        ("only the last line feed is cut off", |dir| {
            let text = fs::read(segment(dir, 3)).unwrap();
            fs::write(segment(dir, 3), &text[..text.len() - 1]).unwrap();
        }),
        ("a middle segment ends in half a line", |dir| {
            let text = fs::read(segment(dir, 2)).unwrap();
            fs::write(segment(dir, 2), &text[..text.len() - 20]).unwrap();
        }),
        ("a line of somebody else is added", |dir| {
            rewrite(&segment(dir, 3), |lines| lines.push("{}".to_owned()))
        }),
        ("a segment of somebody else is added", |dir| fs::write(dir.join("extra.jsonl"), "{}\n").unwrap()),
        ("a link takes a segment's place", |dir| {
            fs::rename(segment(dir, 2), dir.join("kept")).unwrap();
            std::os::unix::fs::symlink("kept", segment(dir, 2)).unwrap();
        }),
        ("HEAD is removed", |dir| fs::remove_file(dir.join("HEAD")).unwrap()),
        ("HEAD is emptied", |dir| fs::write(dir.join("HEAD"), "").unwrap()),
        ("HEAD names another hash", |dir| edit_head(dir, |head| head["hash"] = hex("x").into())),
        ("HEAD and the records are cut back, but not alike", |dir| {
            rewrite(&segment(dir, 3), |lines| drop(lines.pop()));
            edit_head(dir, |head| head["seq"] = (RECORDS - 1).into());
        }),
    ];
    for (why, change) in changes {
        let home = ledger();
        change(home.path());
        assert_tampered(home.path(), why);
    }
}

#[test]
fn an_old_head_with_a_long_chain_is_found() {
    let home = in_memory();
    filled(home.path(), 2, 1 << 20);
    let old = fs::read(home.path().join("HEAD")).unwrap();
    filled(home.path(), 70, 1 << 20);
    assert_intact(home.path(), 72);
    fs::write(home.path().join("HEAD"), old).unwrap();
    assert_tampered(home.path(), "an older HEAD put back");
}

#[test]
fn the_report_names_the_place() {
    let home = ledger();
    rewrite(&segment(home.path(), 2), |lines| lines[2] = lines[2].replace("/w/", "/x/"));
    let in_first = fs::read_to_string(segment(home.path(), 1)).unwrap().lines().count() as u64;
    let fault = assert_tampered(home.path(), "an edit");
    assert_eq!((fault.file.as_str(), fault.line, fault.seq), ("00000002.jsonl", Some(3), Some(in_first + 3)));
    assert_eq!(report(home.path()).records, in_first + 2, "everything before it fits");
}

#[test]
fn a_total_rewrite_is_found_by_its_anchor_and_by_nothing_else() {
    let home = ledger();
    let all = lines(home.path());
    let hash_of = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        Hash::parse(record["hash"].as_str().unwrap()).unwrap()
    };
    let (middle, head) = (hash_of(&all[5]), hash_of(&all[RECORDS - 1]));
    for (why, anchor, seq) in [("the head", head, RECORDS as u64), ("any earlier head", middle, 6)] {
        let report = verify(home.path(), Anchor::Known(anchor)).unwrap();
        assert_eq!((report.integrity, report.anchored), (Integrity::Intact, Some(seq)), "{why}");
    }

    let mut prev = "0".repeat(64);
    for number in 1..=3 {
        rewrite(&segment(home.path(), number), |lines| {
            for line in lines {
                let old: serde_json::Value = serde_json::from_str(line).unwrap();
                *line = rehashed(line, |body| {
                    body.replace("/w/", "/forged/").replace(old["prev"].as_str().unwrap(), &prev)
                });
                prev = serde_json::from_str::<serde_json::Value>(line).unwrap()["hash"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            }
        });
    }
    let length = fs::metadata(segment(home.path(), 3)).unwrap().len();
    edit_head(home.path(), |at| {
        at["hash"] = prev.clone().into();
        at["length"] = length.into();
    });
    assert_intact(home.path(), RECORDS as u64); // the control: without an anchor it is not detectable
    for anchor in [head, middle] {
        let report = verify(home.path(), Anchor::Known(anchor)).unwrap();
        assert_eq!(report.integrity, Integrity::Tampered);
    }
}

#[test]
fn an_anchor_finds_a_ledger_that_was_thrown_away() {
    let home = in_memory();
    let report = verify(&home.path().join("gone"), Anchor::Known(Hash::NONE)).unwrap();
    assert_eq!(report.integrity, Integrity::Tampered);
}

/// One thing a hand can do to a file.
#[derive(Debug, Clone)]
enum Hand {
    Flip { at: prop::sample::Index, bit: u8 },
    Cut { at: prop::sample::Index },
    Insert { at: prop::sample::Index, bytes: Vec<u8> },
    Remove { at: prop::sample::Index, len: usize },
}

fn hand() -> impl Strategy<Value = Hand> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), 0..8u8).prop_map(|(at, bit)| Hand::Flip { at, bit }),
        at().prop_map(|at| Hand::Cut { at }),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Hand::Insert { at, bytes }),
        (at(), 1..900usize).prop_map(|(at, len)| Hand::Remove { at, len }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_random_change_goes_unnoticed(file in 0..4usize, hand in hand()) {
        let home = in_memory();
        filled(home.path(), 8, 1000);
        let path = [home.path().join("HEAD"), segment(home.path(), 1), segment(home.path(), 2), segment(home.path(), 3)]
            [file].clone();
        let before = fs::read(&path).unwrap();
        let mut after = before.clone();
        match hand {
            Hand::Flip { at, bit } => after[at.index(before.len())] ^= 1 << bit,
            Hand::Cut { at } => after.truncate(at.index(before.len())),
            Hand::Insert { at, bytes } => { let at = at.index(before.len()); after.splice(at..at, bytes); }
            Hand::Remove { at, len } => { let at = at.index(before.len()); after.drain(at..(at + len).min(before.len())); }
        }
        prop_assume!(after != before);
        fs::write(&path, after).unwrap();
        let report = report(home.path());
        // Bytes after the last line feed are what a killed writer leaves: torn at most.
        prop_assert!(report.integrity == Integrity::Tampered || report.integrity == Integrity::Torn && file == 3, "{report:?}");
        if report.integrity == Integrity::Torn {
            prop_assert_eq!(report.records, 8);
        }
    }

    #[test]
    fn garbage_is_never_called_intact_and_never_panics(
        records in prop::collection::vec(any::<u8>(), 1..3000), head in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let home = in_memory();
        fs::write(segment(home.path(), 1), records).unwrap();
        fs::write(home.path().join("HEAD"), head).unwrap();
        prop_assert_eq!(report(home.path()).integrity, Integrity::Tampered);
    }
}
