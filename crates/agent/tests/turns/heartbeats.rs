//! The heartbeat: a list in the workspace that is text and nothing more.

use crate::fixture::{Act, Fixture, call, executor, run, say};
use picoclaw_agent::providers::ErrorClass;
use picoclaw_agent::schedule::heartbeat::{Heartbeat, HeartbeatRun};
use picoclaw_policy::AgentId;
use picoclaw_sandbox::launch::CancelToken;
use std::os::unix::fs::symlink;
use std::sync::Arc;

fn heartbeat(fixture: &Fixture) -> Heartbeat {
    let (_, instance) = executor(&fixture.home(), &fixture.config);
    Heartbeat::open(fixture.runner.clone(), &instance, &fixture.config, Arc::new(|_, _| {})).unwrap()
}

fn beat(fixture: &Fixture) -> HeartbeatRun {
    run(heartbeat(fixture).beat(&CancelToken::new()))
}

fn list(fixture: &Fixture, text: &str) {
    std::fs::write(fixture.workspace().join("HEARTBEAT.md"), text).unwrap();
}

fn log(fixture: &Fixture) -> String {
    std::fs::read_to_string(fixture.home().join("logs/heartbeat.log")).unwrap()
}

#[test]
fn a_workspace_without_a_list_is_given_one_and_nothing_runs() {
    let fixture = Fixture::new(vec![say("HEARTBEAT_OK")]);
    assert_eq!(beat(&fixture), HeartbeatRun::Created);
    let text = std::fs::read_to_string(fixture.workspace().join("HEARTBEAT.md")).unwrap();
    assert!(text.ends_with("Add your heartbeat tasks below this line:\n"), "{text}");
    assert_eq!(beat(&fixture), HeartbeatRun::Empty, "the template alone never runs");
    assert!(fixture.asked().is_empty() && fixture.records().is_empty());
    list(&fixture, &format!("{text}- look at the door\n"));
    assert_eq!(beat(&fixture), HeartbeatRun::NothingToDo);
    let said = fixture.sent().pop().unwrap().content;
    assert!(said.starts_with("# Heartbeat Check\n") && said.ends_with("- look at the door\n"), "{said}");
}

#[test]
fn a_beat_remembers_nothing_and_is_judged_as_the_agent_is() {
    let acts = vec![
        call(&[("exec", r#"{"command": "sudo ls"}"#), ("read_file", r#"{"path": "/etc/shadow"}"#)]),
        say("I could not"),
        say("HEARTBEAT_OK\n"),
    ];
    let fixture = Fixture::new(acts);
    list(&fixture, "- do harm\n");
    assert_eq!(beat(&fixture), HeartbeatRun::Answered("I could not".to_owned()));
    let records = fixture.records();
    assert!(records.iter().all(|record| record["origin"] == "heartbeat" && record["verdict"] == "deny"));
    assert_eq!(records.len(), 4);
    assert_eq!(beat(&fixture), HeartbeatRun::NothingToDo);
    assert_eq!(fixture.sent().len(), 1, "no history");
    assert!(fixture.runner.sessions().list(&AgentId::main()).unwrap().is_empty(), "and none is kept");
    let log = log(&fixture);
    assert!(log.lines().count() == 2 && log.contains("] [INFO] Heartbeat completed: I could not"), "{log}");
}

#[test]
fn a_beat_that_fails_is_in_the_log() {
    let fixture =
        Fixture::new(vec![Act::Fail(ErrorClass::Auth, "no key\n[2026-01-01 00:00:00] [INFO] forged")]);
    list(&fixture, "- anything\n");
    assert!(matches!(beat(&fixture), HeartbeatRun::Failed(_)));
    let log = log(&fixture);
    assert!(log.contains("] [ERROR] Heartbeat failed: ") && log.lines().count() == 1, "{log}");
}

#[test]
fn a_list_that_leads_elsewhere_is_not_read() {
    let fixture = Fixture::new(vec![say("leaked")]);
    let secret = fixture.home().join("config.json");
    std::fs::write(&secret, "- a secret\n").unwrap();
    let path = fixture.workspace().join("HEARTBEAT.md");
    for (why, target) in
        [("a link to the configuration", secret.clone()), ("a link out of here", "/etc/passwd".into())]
    {
        symlink(&target, &path).unwrap();
        let beat = beat(&fixture);
        assert!(matches!(beat, HeartbeatRun::Failed(_)), "{why}: {beat:?}");
        std::fs::remove_file(&path).unwrap();
    }
    symlink("nowhere/../../outside", &path).unwrap();
    let beat = beat(&fixture);
    assert!(matches!(beat, HeartbeatRun::Failed(_) | HeartbeatRun::Created), "{beat:?}");
    assert!(!fixture.home().join("outside").exists(), "and no template is written through a link");
    assert!(fixture.asked().is_empty());
}
