//! What a line looks like, to the letter, and how a stranger checks it.
//!
//! Invariant: the documented recipe alone suffices to verify a ledger.

use crate::support::{allowed, assert_intact, denied, filled, lines, subject};
use picoclaw_policy::Verdict;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::ledger::{Entry, Ledger, Reader};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

const KEYS: [&str; 20] = [
    "seq",
    "time",
    "phase",
    "origin",
    "agent",
    "session",
    "depth",
    "lineage",
    "principal",
    "tool",
    "intent",
    "verdict",
    "code",
    "rule",
    "layer",
    "enforced",
    "outcome",
    "duration_us",
    "prev",
    "hash",
];

#[test]
fn a_record_has_the_keys_of_the_contract_in_their_order() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    let ledger = Ledger::open(&dir).unwrap();
    let call = allowed("read /w/a").enforcing(["filesystem: full".to_owned()]);
    let done = call.clone().finished("ok", Duration::from_micros(1234));
    ledger.append(&[call.clone(), done, call.abandoned(), denied("read /etc/shadow")]).unwrap();
    let lines = lines(&dir);
    let rows: [(&str, &str); 4] = [
        (
            "decided, and allowed",
            r#""phase":"decided","origin":"tool","agent":"main","session":"default","depth":0,"lineage":null,"principal":null,"tool":"read_file","intent":"read /w/a","verdict":"allow","code":null,"rule":"workspace","layer":null,"enforced":["filesystem: full"],"outcome":null,"duration_us":null,"prev":""#,
        ),
        (
            "finished",
            r#""verdict":"allow","code":null,"rule":"workspace","layer":null,"enforced":["filesystem: full"],"outcome":"ok","duration_us":1234,"prev":""#,
        ),
        ("abandoned", r#""phase":"abandoned","origin":"tool""#),
        (
            "denied",
            r#""verdict":"deny","code":"outside_workspace","rule":"workspace","layer":"policy","enforced":null,"outcome":null,"duration_us":null,"prev":""#,
        ),
    ];
    assert_eq!(lines.len(), rows.len());
    for ((why, part), (n, line)) in rows.into_iter().zip((1..).zip(&lines)) {
        assert!(line.contains(part), "{why}: {line}");
        assert!(line.starts_with(&format!("{{\"seq\":{n},\"time\":\"2")), "{why}: {line}");
        let record: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        assert_eq!(record.keys().collect::<Vec<_>>(), KEYS, "{why}");
    }
}

#[test]
fn files_are_for_their_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("new/ledger");
    filled(&dir, 4, 1);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&dir), 0o700);
    let mut seen = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 5, "four segments of one record each, and HEAD");
}

#[test]
fn head_is_the_hash_of_the_last_record() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 3, 1 << 20);
    let head = fs::read_to_string(home.path().join("HEAD")).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines(home.path()).last().unwrap()).unwrap();
    assert_eq!(head.lines().next(), last["hash"].as_str());
    let tip = Reader::open(home.path()).unwrap().unwrap().head().unwrap().unwrap();
    assert_eq!((tip.seq, Some(tip.hash.to_string().as_str())), (3, last["hash"].as_str()));
}

#[test]
fn secrets_and_terminal_tricks_do_not_reach_the_file() {
    let home = tempfile::tempdir().unwrap();
    let secret = "sk-\"quoted\"-12345";
    let ledger = Ledger::open(home.path()).unwrap().redacting(Redactor::new(&[secret.to_owned()]));
    let entry = allowed(&format!("exec echo {secret} \u{1b}[2J\u{202e}\u{9b}31m\nsecond line"));
    ledger.append(&[entry.clone().finished(&format!("failed: {secret}"), Duration::ZERO), entry]).unwrap();
    let raw = fs::read_to_string(home.path().join("00000001.jsonl")).unwrap();
    assert!(!raw.contains("quoted"), "{raw}");
    assert!(
        raw.contains(r#""intent":"exec echo [FILTERED] \u001b[2J\u202e\u009b31m\nsecond line""#),
        "{raw}"
    );
    assert!(raw.contains(r#""outcome":"failed: [FILTERED]""#), "{raw}");
    assert_eq!(raw.lines().count(), 2);
    assert!(raw.chars().all(|c| c == '\n' || !c.is_control()), "{raw:?}");
    assert_intact(home.path(), 2);
}

#[test]
fn an_entry_of_any_size_makes_a_line_that_verifies() {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path()).unwrap();
    let huge = "\u{1}é".repeat(1 << 20);
    let mut who = subject();
    who.session = huge.clone();
    let verdict = Verdict::Deny(picoclaw_policy::Refusal {
        code: picoclaw_policy::Code::UnknownTool,
        sentence: huge.clone(),
        rule: huge.clone(),
        layer: picoclaw_policy::Layer::Registry,
        hint: huge.clone(),
    });
    let entry = Entry::decided(&who, &huge, &huge, &verdict).enforcing((0..100).map(|_| huge.clone()));
    ledger.append(&[entry.finished(&huge, Duration::MAX)]).unwrap();
    assert!(lines(home.path())[0].len() < 1 << 20);
    assert!(lines(home.path())[0].contains("more bytes)"));
    assert_intact(home.path(), 1);
}

#[test]
fn the_documented_recipe_alone_verifies_a_ledger() {
    const RECIPE: &str = r#"
import hashlib, json, pathlib, sys
home, prev, seq = pathlib.Path(sys.argv[1]), "0" * 64, 0
for segment in sorted(home.glob("*.jsonl")):
    for line in segment.read_bytes().split(b"\n")[:-1]:
        assert line[-75:-66] == b',"hash":"' and line[-2:] == b'"}', line
        found = line[-66:-2].decode()
        assert hashlib.sha256(line[:-75] + b"}").hexdigest() == found
        record = json.loads(line)
        seq += 1
        assert (record["seq"], record["prev"], record["hash"]) == (seq, prev, found)
        prev = found
head = (home / "HEAD").read_text().split("\n")
assert head[0] == prev, "HEAD"
text = (home / "HEAD").read_text()
body, check = text.split(',"check":"')
assert hashlib.sha256(body.encode()).hexdigest()[:16] == check[:16], "check"
print(seq)
"#;
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 25, 2000);
    let ledger = Ledger::open(home.path()).unwrap();
    ledger.append(&[allowed("exec printf '\u{1b}[31m%s' \"naïve\\path\" # 笔记 😀\u{202e}\n")]).unwrap();
    drop(ledger);
    let python = Command::new("python3").args(["-c", RECIPE]).arg(home.path()).output();
    let Ok(output) = python else {
        picoclaw_testing::skip!("python3 is not installed, so no stranger checked the ledger");
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "26",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
