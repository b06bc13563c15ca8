//! What the tests share: subjects, entries, and a hand on the files.
//!
//! Invariant: files are changed here as a stranger would change them, by the documented format alone.

use picoclaw_policy::{AgentId, Code, Grant, Layer, Origin, Refusal, Subject, Verdict};
use picoclaw_sandbox::ledger::{Anchor, Entry, Fault, Integrity, Ledger, Report, verify};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn subject() -> Subject {
    Subject::root(Origin::Tool, AgentId::main(), "default")
}

pub(crate) fn allowed(intent: &str) -> Entry {
    let grant = Grant { rule: "workspace".to_owned() };
    Entry::decided(&subject(), "read_file", intent, &Verdict::Allow(grant))
}

pub(crate) fn denied(intent: &str) -> Entry {
    let refusal = Refusal {
        code: Code::OutsideWorkspace,
        sentence: "access denied: path is outside the workspace".to_owned(),
        rule: "workspace".to_owned(),
        layer: Layer::Policy,
        hint: "none".to_owned(),
    };
    Entry::decided(&subject(), "read_file", intent, &Verdict::Deny(refusal))
}

/// A directory of one's own, in memory where there is such a place: hundreds of small ledgers are made and synced.
pub(crate) fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A ledger of `count` records, every second one *finished*, in segments of about `segment` bytes.
pub(crate) fn filled(dir: &Path, count: usize, segment: u64) {
    let ledger = Ledger::open(dir).unwrap().rotating_at(segment);
    for n in 0..count {
        let entry = allowed(&format!("read /w/{n}"));
        let entry = if n % 2 == 1 { entry.finished("ok", Duration::from_micros(7)) } else { entry };
        ledger.append(&[entry]).unwrap();
    }
}

pub(crate) fn report(dir: &Path) -> Report {
    verify(dir, Anchor::Unknown).unwrap()
}

#[track_caller]
pub(crate) fn assert_intact(dir: &Path, records: u64) {
    let report = report(dir);
    assert_eq!((report.integrity, report.records), (Integrity::Intact, records), "{:?}", report.fault);
}

#[track_caller]
pub(crate) fn assert_tampered(dir: &Path, why: &str) -> Fault {
    let report = report(dir);
    assert_eq!(report.integrity, Integrity::Tampered, "{why}: not found; {report:?}");
    report.fault.unwrap_or_else(|| panic!("{why}: a verdict without a reason"))
}

pub(crate) fn segment(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.jsonl"))
}

/// All lines of all segments, with the segment each is in.
pub(crate) fn lines(dir: &Path) -> Vec<String> {
    (1..)
        .map(|n| segment(dir, n))
        .map_while(|path| fs::read_to_string(path).ok())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

pub(crate) fn intents(dir: &Path) -> Vec<String> {
    let intent = |line: String| {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        record["intent"].as_str().unwrap().to_owned()
    };
    lines(dir).into_iter().map(intent).collect()
}

/// Rewrites `HEAD` by its documented format.
pub(crate) fn edit_head(dir: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let text = fs::read_to_string(dir.join("HEAD")).unwrap();
    let (hash, rest) = text.split_once('\n').unwrap();
    let mut rest: serde_json::Value = serde_json::from_str(rest).unwrap();
    rest["hash"] = hash.into();
    edit(&mut rest);
    let mut out = format!(
        "{}\n{{\"seq\":{},\"segment\":{},\"length\":{},\"synced\":{},\"boot\":{}",
        rest["hash"].as_str().unwrap(),
        rest["seq"],
        rest["segment"],
        rest["length"],
        rest["synced"],
        rest["boot"],
    );
    let check = hex(&out);
    out.push_str(&format!(",\"check\":\"{}\"}}", &check[..16]));
    fs::write(dir.join("HEAD"), format!("{out:<319}\n")).unwrap();
}

/// As if the machine had been started anew since, with nothing synced after `synced`.
pub(crate) fn restarted(dir: &Path, synced: u64) {
    edit_head(dir, |head| {
        head["boot"] = "00000000-0000-4000-8000-000000000000".into();
        head["synced"] = synced.into();
    });
}

pub(crate) fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

/// The line again, with `edit` done to it and its own hash made true.
pub(crate) fn rehashed(line: &str, edit: impl FnOnce(&str) -> String) -> String {
    let body = format!("{}}}", &line[..line.len() - 75]);
    let body = edit(&body);
    format!("{},\"hash\":\"{}\"}}", &body[..body.len() - 1], hex(&body))
}
