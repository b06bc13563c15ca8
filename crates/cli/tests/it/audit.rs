//! The ledger and the logs, through the real binary.

use crate::test_instance::{Ran, TestInstance};
use crate::tmux::Tmux;
use sha2::Digest;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

fn two_calls() -> TestInstance {
    let instance = TestInstance::new();
    assert_eq!(instance.tool("write_file", r#"{"path": "a.txt", "content": "hello"}"#).code, 0);
    assert_eq!(instance.tool("read_file", r#"{"path": "/etc/passwd"}"#).code, 1);
    instance
}

fn verify(instance: &TestInstance, more: &[&str]) -> Ran {
    instance.run(&[&["audit", "verify"], more].concat())
}

#[test]
fn what_was_done_and_refused_can_be_looked_up_and_verified() {
    let instance = two_calls();
    let phases: Vec<_> =
        instance.records().iter().map(|r| format!("{} {} {}", r["phase"], r["tool"], r["verdict"])).collect();
    assert_eq!(
        phases,
        [
            r#""decided" "write_file" "allow""#,
            r#""finished" "write_file" "allow""#,
            r#""decided" "read_file" "deny""#,
            r#""finished" "read_file" "deny""#,
        ]
    );
    let ran = verify(&instance, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("intact: 4 records"), "{ran:?}");
}

#[test]
fn the_head_in_status_is_an_anchor() {
    let instance = two_calls();
    let status: serde_json::Value =
        serde_json::from_str(&instance.run(&["status", "--json"]).stdout).unwrap();
    let head = status["ledger_head"]["hash"].as_str().unwrap().to_owned();
    assert_eq!(verify(&instance, &["--anchor", &head]).code, 0);
    fs::remove_dir_all(instance.home().join("ledger")).unwrap();
    fs::remove_file(instance.home().join("state/ledger-head")).unwrap();
    instance.tool("list_dir", "{}");
    assert_eq!(verify(&instance, &[]).code, 0, "the control: a new ledger is intact by itself");
    let ran = verify(&instance, &["--anchor", &head]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.starts_with("tampered"), "{ran:?}");
}

#[test]
fn nothing_is_done_that_cannot_be_recorded() {
    type Break = fn(&std::path::Path);
    let breaks: [(&str, Break); 4] = [
        ("its end was cut off", |ledger| {
            let path = ledger.join("00000001.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.split_inclusive('\n').take(2).collect::<String>()).unwrap();
        }),
        ("HEAD is garbage", |ledger| fs::write(ledger.join("HEAD"), "garbage").unwrap()),
        ("HEAD is gone", |ledger| fs::remove_file(ledger.join("HEAD")).unwrap()),
        ("it is a file", |ledger| {
            fs::remove_dir_all(ledger).unwrap();
            fs::write(ledger, "").unwrap();
        }),
    ];
    for (why, spoil) in breaks {
        let instance = two_calls();
        spoil(&instance.home().join("ledger"));
        let ran = instance.tool("write_file", r#"{"path": "b.txt", "content": "x"}"#);
        assert_eq!(ran.code, 1, "{why}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("ledger"), "{why}: {ran:?}");
        assert!(!instance.workspace().join("b.txt").exists(), "{why}: it was done all the same");
    }
}

#[test]
fn half_a_line_is_torn_and_the_next_call_puts_it_in_order() {
    use std::io::Write;
    let instance = two_calls();
    let path = instance.home().join("ledger/00000001.jsonl");
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"seq\":5,").unwrap();
    let ran = verify(&instance, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("torn: 4 records"), "{ran:?}");
    assert_eq!(instance.tool("read_file", r#"{"path": "a.txt"}"#).stdout, "hello");
    assert!(verify(&instance, &[]).stdout.starts_with("intact: 6 records"));
}

#[test]
fn json_logs_are_one_object_an_event() {
    let instance = TestInstance::new();
    let ran = instance
        .run_with(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#], &[("PICOCLAW_LOG_FORMAT", "json")]);
    let events: Vec<serde_json::Value> =
        ran.stderr.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).unwrap()).collect();
    let failed = events.iter().find(|event| event["message"] == "Tool execution failed").unwrap();
    assert_eq!(failed["level"], "ERROR");
    assert_eq!(failed["component"], "tool");
    assert_eq!(failed["tool"], "read_file");
    assert_eq!(failed["error"], "access denied: path is outside the workspace");
}

#[test]
fn a_log_file_takes_the_place_of_stderr() {
    let instance = two_calls();
    let file = instance.dir().join("log");
    let variables = [("PICOCLAW_LOG_FILE", file.to_str().unwrap())];
    let ran = instance.run_with(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#], &variables);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let logged = fs::read_to_string(file).unwrap();
    let want = "[ERROR] tool: Tool execution failed\n{tool=read_file, error=access denied: path is outside the workspace}\n";
    assert!(logged.contains(want), "{logged}");
}

#[test]
fn a_closed_stderr_stops_no_work() {
    let instance = two_calls();
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let mut command = instance.command(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#]);
    let status = command.stdout(Stdio::null()).stderr(write).status().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(1), None));
    assert_eq!(instance.records().len(), 6, "and it is in the ledger");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// An instance whose ledger can be replaced by an older copy of it, in `{dir}/old`.
fn with_old_copy() -> TestInstance {
    let instance = two_calls();
    copy(&instance.home().join("ledger"), &instance.dir().join("old"));
    assert_eq!(instance.tool("write_file", r#"{"path": "c.txt", "content": "x"}"#).code, 0);
    instance
}

#[test]
fn a_ledger_that_is_not_the_one_that_was_written_is_refused_until_it_is_accepted() {
    type Change = fn(&TestInstance, &Path);
    let rows: [(&str, Change); 10] = [
        ("removed", |_, ledger| fs::remove_dir_all(ledger).unwrap()),
        ("its files removed", |_, ledger| {
            fs::remove_dir_all(ledger).unwrap();
            fs::create_dir(ledger).unwrap();
        }),
        ("its files emptied", |_, ledger| {
            fs::write(ledger.join("HEAD"), "").unwrap();
            fs::write(ledger.join("00000001.jsonl"), "").unwrap();
        }),
        ("rolled back", |instance, ledger| {
            fs::remove_dir_all(ledger).unwrap();
            copy(&instance.dir().join("old"), ledger);
        }),
        ("another instance's", |_, ledger| {
            let other = two_calls();
            for _ in 0..3 {
                other.tool("list_dir", "{}");
            }
            fs::remove_dir_all(ledger).unwrap();
            copy(&other.home().join("ledger"), ledger);
        }),
        ("a planted segment", |_, ledger| {
            let copied = fs::copy(ledger.join("00000001.jsonl"), ledger.join("00000002.jsonl"));
            assert!(copied.is_ok());
        }),
        ("a planted segment further on", |_, ledger| {
            fs::write(ledger.join("00000009.jsonl"), "{}\n").unwrap();
        }),
        ("a planted file that is named like one", |_, ledger| {
            fs::write(ledger.join("more.jsonl"), "{}\n").unwrap();
        }),
        ("without its head", |_, ledger| fs::remove_file(ledger.join("HEAD")).unwrap()),
        ("without the head outside", |instance, _| {
            fs::remove_file(instance.home().join("state/ledger-head")).unwrap();
        }),
    ];
    for (why, change) in rows {
        let instance = with_old_copy();
        assert!(verify(&instance, &[]).stdout.starts_with("intact: 6 records"), "the control");
        change(&instance, &instance.home().join("ledger"));
        let ran = verify(&instance, &[]);
        assert_eq!((ran.code, &ran.stdout[..9]), (1, "tampered:"), "{why}: {ran:?}");
        let ran = instance.tool("write_file", r#"{"path": "b.txt", "content": "x"}"#);
        assert_eq!(ran.code, 1, "{why}: {ran:?}");
        assert!(ran.stderr.contains("ledger"), "{why}: {ran:?}");
        assert!(!instance.workspace().join("b.txt").exists(), "{why}: it was done all the same");
        assert_eq!(verify(&instance, &[]).code, 1, "{why}: a refused writer changes nothing");
        let accepted = instance.run(&["audit", "accept"]);
        assert_eq!(accepted.code, 0, "{why}: {accepted:?}");
        assert_eq!(instance.tool("write_file", r#"{"path": "b.txt", "content": "x"}"#).code, 0, "{why}");
        let ran = verify(&instance, &[]);
        assert!(ran.stdout.starts_with("intact: "), "{why}: {ran:?}");
        let is_recorded = |record: &serde_json::Value| {
            record["tool"] == "audit" && record["intent"].as_str().unwrap().starts_with("accept ")
        };
        assert!(instance.records().iter().any(is_recorded), "{why}");
    }
}

#[test]
fn the_head_outside_is_the_end_of_the_chain_and_the_check_says_what_it_proves() {
    let instance = two_calls();
    let head = fs::read_to_string(instance.home().join("state/ledger-head")).unwrap();
    let last = instance.records().pop().unwrap();
    assert_eq!(head.lines().next(), last["hash"].as_str());
    let ran = verify(&instance, &[]);
    assert!(ran.stdout.contains("\nproves: ") && ran.stdout.contains("\ncannot prove: "), "{ran:?}");
    // The first version had no head outside.
    fs::remove_file(instance.home().join("state/ledger-head")).unwrap();
    let old = fs::read_to_string(instance.home().join("ledger/HEAD")).unwrap();
    let fields = old.split(",\"kept\"").next().unwrap().to_owned();
    let check =
        sha2::Sha256::digest(fields.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = format!("{fields},\"check\":\"{}\"}}", &check[..16]);
    fs::write(instance.home().join("ledger/HEAD"), format!("{text:<319}\n")).unwrap();
    assert!(verify(&instance, &[]).stdout.starts_with("intact: 4 records"), "an old ledger");
    let ran = instance.tool("list_dir", "{}");
    assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "it goes on, told in one line: {ran:?}");
    assert!(ran.stderr.contains("state/ledger-head"), "{ran:?}");
    assert_eq!(instance.tool("list_dir", "{}").stderr, "", "once");
    assert!(verify(&instance, &[]).stdout.starts_with("intact: 8 records"));
}

#[test]
fn each_new_head_goes_to_the_anchor() {
    for config in [
        r#"{"ledger": {"anchor": {"file": "{dir}/anchor"}}}"#,
        r#"{"ledger": {"anchor": {"command": ["/bin/sh", "-c", "cat >> {dir}/anchor"]}}}"#,
    ] {
        let instance = TestInstance::with_config(config);
        for _ in 0..2 {
            assert_eq!(instance.tool("list_dir", "{}").code, 0);
        }
        let anchored = fs::read_to_string(instance.dir().join("anchor")).unwrap();
        let last = instance.records().pop().unwrap();
        let want = format!("{} {}", last["hash"].as_str().unwrap(), last["seq"]);
        assert_eq!((anchored.lines().count(), anchored.lines().last()), (2, Some(want.as_str())), "{config}");
    }
    let both = TestInstance::with_config(r#"{"ledger": {"anchor": {"file": "/x", "command": ["true"]}}}"#);
    assert_eq!(both.run(&["config", "check"]).code, 2);
}

#[test]
fn on_a_terminal_a_call_is_one_row_with_its_outcome() {
    let instance = TestInstance::with_config(r#"{"isolation": {"enabled": false}}"#);
    let long = format!(r#"{{"command": "echo {}"}}"#, "long ".repeat(30));
    for (tool, json) in [("exec", long.as_str()), ("read_file", r#"{"path": "/etc/passwd"}"#)] {
        instance.tool(tool, json);
    }
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("clear; picoclaw audit tail");
    tmux.says("the refusal", "-> refused");
    tmux.shows("the end", "$");
    let screen = tmux.screen();
    let rows: Vec<&str> = screen.lines().collect();
    assert_eq!(rows.len(), 4, "a head, two rows and the prompt: {screen}");
    assert!(rows[1].contains(" exec       echo long") && rows[1].contains("-> ok ("), "{screen}");
    assert!(tmux.colours().contains("\x1b[31mdeny"), "{:?}", tmux.colours());
    // A pipe gets it whole.
    assert!(instance.run(&["audit", "tail"]).stdout.contains(&"long ".repeat(30)));
}
