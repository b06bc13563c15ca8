//! `audit` from the arguments to the exit code.

use super::{AuditArgs, run};
use clap::Parser;
use picoclaw_policy::{AgentId, Code, Grant, Layer, Origin, Refusal, Subject, Verdict};
use picoclaw_sandbox::ledger::{Entry, Ledger};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    audit: AuditArgs,
}

struct Ran {
    code: u8,
    out: String,
    notes: String,
}

fn audit(dir: &Path, line: &str) -> Ran {
    let args = Line::try_parse_from(std::iter::once("audit").chain(line.split_whitespace())).unwrap();
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let code = run(&args.audit, dir, &mut out, &mut notes, None).unwrap();
    Ran { code, out: String::from_utf8(out).unwrap(), notes: String::from_utf8(notes).unwrap() }
}

/// Six records: three calls, of which the second is denied.
fn ledger() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&home.path().join("ledger")).unwrap();
    let subject = |agent: &str| Subject::root(Origin::Cli, AgentId::parse(agent).unwrap(), "s");
    let yes = Verdict::Allow(Grant { rule: "workspace".to_owned() });
    let no = Verdict::Deny(Refusal {
        code: Code::OutsideWorkspace,
        sentence: "access denied: path is outside the workspace".to_owned(),
        rule: "workspace".to_owned(),
        layer: Layer::Policy,
        hint: String::new(),
    });
    for (agent, tool, intent, verdict) in [
        ("main", "read_file", "read /w/a", &yes),
        ("coder", "read_file", "read /etc/\u{1b}[31mpasswd\nx", &no),
        ("coder", "exec", "exec ls", &yes),
    ] {
        let entry = Entry::decided(&subject(agent), tool, intent, verdict);
        let done = entry.clone().finished("ok", Duration::from_micros(12));
        ledger.append(&[entry, done]).unwrap();
    }
    home
}

fn seqs(out: &str) -> Vec<u64> {
    out.lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect()
}

#[test]
fn records_are_chosen_by_what_is_asked() {
    let home = ledger();
    for (why, line, want) in [
        ("the last ones", "tail -n 2 --json", vec![5, 6]),
        ("all, if there are fewer", "tail --json", vec![1, 2, 3, 4, 5, 6]),
        ("none", "tail -n 0 --json", vec![]),
        ("everything", "show --json", vec![1, 2, 3, 4, 5, 6]),
        ("one", "show 4 --json", vec![4]),
        ("an agent's", "show --agent coder --json", vec![3, 4, 5, 6]),
        ("a tool's", "show --tool exec --json", vec![5, 6]),
        ("what was denied", "show --verdict deny --json", vec![3, 4]),
        ("filters narrow each other", "show --agent coder --verdict allow --json", vec![5, 6]),
        ("since long ago", "show --since 1h --json", vec![1, 2, 3, 4, 5, 6]),
        ("since a moment that has not come", "show --since 9999-01-01 --json", vec![]),
    ] {
        let ran = audit(home.path(), line);
        assert_eq!((ran.code, seqs(&ran.out)), (0, want), "{why}: {}", ran.notes);
    }
    let missing = audit(home.path(), "show 99");
    assert_eq!((missing.code, missing.out.as_str()), (1, ""));
    assert!(missing.notes.contains("no record 99"));
}

#[test]
fn json_is_the_line_as_it_is_written() {
    let home = ledger();
    let file = std::fs::read_to_string(home.path().join("ledger/00000001.jsonl")).unwrap();
    assert_eq!(audit(home.path(), "show --json").out, file);
}

#[test]
fn a_table_is_fit_for_a_terminal() {
    let home = ledger();
    for line in ["tail", "show", "show 3"] {
        let ran = audit(home.path(), line);
        assert!(ran.out.contains("read /etc/\\u{1b}[31mpasswd\\nx"), "{line}: {}", ran.out);
        assert!(!ran.out.chars().any(|c| c.is_control() && c != '\n'), "{line}");
    }
    let table = audit(home.path(), "tail").out;
    assert_eq!(table.lines().count(), 4, "a head and three calls: {table}");
    assert!(table.contains("[outside_workspace]"), "{table}");
}

#[test]
fn verify_says_what_it_found_and_exits_accordingly() {
    type Change = fn(&Path);
    let segment = |dir: &Path| dir.join("00000001.jsonl");
    let rows: [(&str, Change, u8, &str); 4] = [
        ("as it was written", |_| {}, 0, "intact"),
        (
            "half a line more",
            |dir| {
                let path = dir.join("00000001.jsonl");
                std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"seq\"").unwrap();
            },
            0,
            "torn",
        ),
        (
            "an edit",
            |dir| {
                let path = dir.join("00000001.jsonl");
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(&path, text.replace("exec ls", "exec id")).unwrap();
            },
            1,
            "tampered",
        ),
        ("no HEAD", |dir| std::fs::remove_file(dir.join("HEAD")).unwrap(), 1, "tampered"),
    ];
    for (why, change, code, word) in rows {
        let home = ledger();
        let dir = home.path().join("ledger");
        assert!(segment(&dir).exists());
        change(&dir);
        let ran = audit(home.path(), "verify");
        assert_eq!(ran.code, code, "{why}: {}", ran.out);
        assert!(ran.out.starts_with(&format!("{word}: ")), "{why}: {}", ran.out);
        let json: serde_json::Value = serde_json::from_str(&audit(home.path(), "verify --json").out).unwrap();
        assert_eq!(json["verdict"], word, "{why}");
        assert_eq!(json["fault"].is_null(), word == "intact", "{why}: {json}");
    }
}

#[test]
fn an_anchor_is_looked_for() {
    let home = ledger();
    let head = audit(home.path(), "verify --json");
    let head: serde_json::Value = serde_json::from_str(&head.out).unwrap();
    let ran = audit(home.path(), &format!("verify --anchor {}", head["head"]["hash"].as_str().unwrap()));
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("anchor: record 6"));
    let ran = audit(home.path(), &format!("verify --anchor {}", "ab".repeat(32)));
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("tampered"), "{}", ran.out);
}

#[test]
fn a_missing_ledger_has_no_records_yet_and_is_not_made() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ledger");
    for (line, want) in [
        ("tail", "no records yet\n"),
        ("show", "no records yet\n"),
        ("verify", "intact: no records yet\n"),
        ("tail --json", ""),
    ] {
        let ran = audit(home.path(), line);
        assert_eq!((ran.code, ran.out.as_str()), (0, want), "{line}");
    }
    assert!(!dir.exists());
}

#[test]
fn bad_arguments_are_refused_before_anything_is_read() {
    for line in [
        "show --since yesterday",
        "show --since -5m",
        "show --verdict maybe",
        "show x",
        "show 1 --agent main",
        "verify --anchor abc",
        "tail -n -1",
    ] {
        let parsed = Line::try_parse_from(std::iter::once("audit").chain(line.split_whitespace()));
        assert_eq!(parsed.err().map(|e| e.exit_code()), Some(2), "`{line}`");
    }
}

/// Accepts two lines, then is a closed pipe.
struct Closing(Vec<u8>);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.iter().filter(|b| **b == b'\n').count() >= 2 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn following_shows_what_is_added_and_ends_with_its_reader() {
    let home = ledger();
    let args = Line::try_parse_from(["audit", "tail", "-n", "1", "-f", "--json"]).unwrap();
    let entry = Entry::decided(
        &Subject::root(Origin::Cli, AgentId::main(), ""),
        "exec",
        "exec later",
        &Verdict::Allow(Grant { rule: String::new() }),
    );
    let mut out = Closing(Vec::new());
    let code = std::thread::scope(|scope| {
        let following =
            scope.spawn(|| run(&args.audit, home.path(), &mut out, &mut io::sink(), None).unwrap());
        // It continues until its reader closes the pipe, however many records that needs.
        let ledger = Ledger::open(&home.path().join("ledger")).unwrap();
        while !following.is_finished() {
            ledger.append(std::slice::from_ref(&entry)).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        following.join().unwrap()
    });
    let seen = String::from_utf8(out.0).unwrap();
    assert_eq!(code, 0);
    assert_eq!(seqs(&seen)[1], seqs(&seen)[0] + 1, "{seen}");
    assert!(seen.contains("exec later"));
}
