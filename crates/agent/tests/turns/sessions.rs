//! Sessions: kept, apart, one turn at a time, and readable whatever happened to them.

use crate::fixture::{Fixture, call, say};
use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::run::TurnError;
use picoclaw_agent::sessions::{SessionError, Sessions};
use picoclaw_policy::AgentId;
use picoclaw_sandbox::Redactor;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

#[test]
fn a_session_goes_on_where_it_was() {
    let fixture = Fixture::new(vec![call(&[("list_dir", "{}")]), say("one"), say("two")]);
    fixture.turn("first").unwrap();
    fixture.turn("second").unwrap();
    let sent: Vec<_> = fixture.sent().into_iter().map(|message| message.role).collect();
    assert_eq!(sent, [Role::User, Role::Assistant, Role::Tool, Role::Assistant, Role::User]);
    let path = fixture.home().join("state/sessions/main/s.jsonl");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((first["role"].as_str(), first["content"].as_str()), (Some("user"), Some("first")));
    assert!(first["created_at"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn four_names_are_four_sessions() {
    let fixture = Fixture::new((0..4).map(|_| say("ok")).collect());
    let names = ["a:1", "a/1", "a_1", "A:1"];
    for name in names {
        fixture.turn_as("main", name, name, &|_| {}).unwrap();
        assert_eq!(fixture.sent().len(), 1, "nothing of another session was sent");
    }
    let mut listed: Vec<_> =
        fixture.runner.sessions().list(&AgentId::main()).unwrap().into_iter().map(|one| one.name).collect();
    listed.sort();
    let mut want = names.map(str::to_owned);
    want.sort();
    assert_eq!(listed, want);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_said_under_one_name_is_found_under_that_name_alone(a in ".{1,30}", b in ".{1,30}") {
        let home = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(home.path(), Redactor::default()).unwrap();
        let agent = AgentId::main();
        sessions.lock(&agent, &a).unwrap().append(&Message::text(Role::User, "hello")).unwrap();
        prop_assert_eq!(sessions.read(&agent, &a).unwrap().messages.len(), 1);
        prop_assert_eq!(sessions.read(&agent, &b).is_ok(), a == b);
    }
}

#[test]
fn a_line_that_cannot_be_read_costs_that_line_alone() {
    let fixture = Fixture::new(vec![say("one"), say("two")]);
    fixture.turn("first").unwrap();
    let path = fixture.home().join("state/sessions/main/s.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(
        b"{\"role\": \"user\", \"content\": \xff\n\0\0\0\n\n[]\n{\"role\":\"robot\"}\n{\"role\": \"us",
    );
    std::fs::write(&path, bytes).unwrap();
    fixture.turn("second").unwrap();
    let said: Vec<_> = fixture.sent().into_iter().map(|message| message.content).collect();
    assert_eq!(said, ["first", "one", "second"]);
    assert_eq!(fixture.kept("s").len(), 4, "and the next one begins on a line of its own");
}

#[test]
fn a_line_of_more_than_ten_megabytes_is_left_out() {
    let fixture = Fixture::new(vec![say("ok")]);
    let dir = fixture.home().join("state/sessions/main");
    std::fs::create_dir_all(&dir).unwrap();
    let line = |text: &str| serde_json::to_string(&Message::text(Role::User, text)).unwrap() + "\n";
    std::fs::write(dir.join("s.jsonl"), line("small") + &line(&"x".repeat(11 << 20)) + &line("smaller"))
        .unwrap();
    fixture.turn("go").unwrap();
    let said: Vec<_> = fixture.sent().into_iter().map(|message| message.content).collect();
    assert_eq!(said, ["small", "smaller", "go"]);
}

#[test]
fn a_meta_file_that_cannot_be_read_costs_no_message() {
    let fixture = Fixture::new(vec![say("one"), say("two")]);
    fixture.turn("first").unwrap();
    std::fs::write(fixture.home().join("state/sessions/main/s.meta.json"), "{nonsense").unwrap();
    fixture.turn("second").unwrap();
    assert_eq!(fixture.sent().len(), 3);
}

#[test]
fn a_second_turn_in_the_same_session_waits_and_then_says_why_not() {
    let home = tempfile::tempdir().unwrap();
    let agent = AgentId::main();
    let sessions = Sessions::open(home.path(), Redactor::default()).unwrap();
    let held = sessions.lock(&agent, "s").unwrap();
    let other = sessions.clone().waiting(Duration::from_millis(200));
    let began = Instant::now();
    let why = other.lock(&agent, "s").unwrap_err();
    assert!(matches!(why, SessionError::Busy { .. }), "{why}");
    assert!(why.to_string().contains("in use") && why.hint().unwrap().contains("-s"));
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(matches!(other.clear(&agent, "s"), Err(SessionError::Busy { .. })), "nor is it cleared");
    assert!(other.read(&agent, "s").is_ok(), "reading is free");
    other.lock(&agent, "t").unwrap();
    drop(held);
    other.lock(&agent, "s").unwrap();
}

#[test]
fn a_turn_that_only_adds_reads_nothing_and_takes_back_its_own_alone() {
    let home = tempfile::tempdir().unwrap();
    let agent = AgentId::main();
    let sessions = Sessions::open(home.path(), Redactor::default()).unwrap();
    let say = |text: &str| Message::text(Role::User, text);
    let mut first = sessions.lock(&agent, "s").unwrap();
    first.append(&say("one")).unwrap();
    first.append(&say("two")).unwrap();
    first.set_summary("one was said", 1).unwrap();
    drop(first);
    let mut adding = sessions.lock_for_append(&agent, "s").unwrap();
    assert!(adding.take_history().is_empty());
    let before = adding.rollback_point();
    adding.append(&say("taken back")).unwrap();
    adding.roll_back(&before).unwrap();
    adding.append(&say("three")).unwrap();
    drop(adding);
    let mut whole = sessions.lock(&agent, "s").unwrap();
    assert_eq!(whole.summary(), "one was said");
    let said: Vec<String> = whole.take_history().into_iter().map(|said| said.message.content).collect();
    assert_eq!(said, ["two", "three"]);
}

#[test]
fn a_file_that_belongs_to_another_name_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let agent = AgentId::main();
    let sessions = Sessions::open(home.path(), Redactor::default()).unwrap();
    drop(sessions.lock(&agent, "name").unwrap());
    // What a file system that folds case would do.
    let dir = home.path().join("state/sessions/main");
    std::fs::rename(dir.join("name.jsonl"), dir.join("NAME.jsonl")).unwrap();
    std::fs::rename(dir.join("name.meta.json"), dir.join("NAME.meta.json")).unwrap();
    assert!(matches!(sessions.lock(&agent, "NAME"), Err(SessionError::Taken { .. })));
}

#[test]
fn a_name_that_is_none_is_refused() {
    let fixture = Fixture::new(vec![]);
    for name in [String::new(), "x".repeat(2000)] {
        let why = fixture.turn_as("main", &name, "go", &|_| {}).unwrap_err();
        assert!(matches!(why, TurnError::Session(SessionError::BadName)), "{why}");
    }
}
