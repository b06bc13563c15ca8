//! Secrets: out of everything that leaves.

use crate::fixture::{Act, Fixture, call, say};
use picoclaw_agent::run::Event;
use std::path::Path;
use std::sync::Mutex;

const SECRET: &str = "hunter2-hunter2";

#[test]
fn no_secret_reaches_the_model_the_session_an_event_or_the_ledger() {
    let exec = format!(r#"{{"command": "cat note; echo {SECRET}"}}"#);
    let answer = format!("it is {SECRET}, I think");
    let acts = vec![call(&[("exec", &exec), ("exec", &format!("{{{SECRET}"))]), say(&answer)];
    let fixture = Fixture::with(acts, |config| config.secrets = vec![SECRET.to_owned()]);
    let note = format!("the key is {SECRET}\n");
    for file in ["note", "AGENT.md", "memory/MEMORY.md"] {
        let path = fixture.workspace().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &note).unwrap();
    }
    let told = Mutex::new(String::new());
    let hear = |event: Event| told.lock().unwrap().push_str(&format!("{event:?}\n"));
    let ending = fixture.turn_as("main", SECRET, &format!("use {SECRET}"), &hear).unwrap();
    assert_eq!(ending.answer, "it is [FILTERED], I think");
    let sent = format!("{:?}", fixture.asked());
    assert!(sent.contains("the key is [FILTERED]") && sent.contains("use [FILTERED]"), "{sent}");
    let told = told.into_inner().unwrap();
    assert!(told.contains("[FILTERED]"), "{told}");
    for (what, text) in [("model", sent), ("events", told), ("ledger", format!("{:?}", fixture.records()))] {
        assert!(!text.contains(SECRET), "{what}: {text}");
    }
    // A session's own name is the file's name; what is said in it is what must be clean.
    for file in files(&fixture.home().join("state")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace(&format!("\"key\":\"{SECRET}\""), "");
        assert!(!text.contains(SECRET), "{}: {text}", file.display());
    }
}

#[test]
fn a_secret_that_the_model_streams_is_never_shown_in_pieces() {
    let fixture =
        Fixture::with(vec![say(&format!("a {SECRET} b"))], |config| config.secrets = vec![SECRET.to_owned()]);
    let told = Mutex::new(String::new());
    let hear = |event: Event| {
        if let Event::Text(text) = event {
            told.lock().unwrap().push_str(&text);
        }
    };
    fixture.turn_as("main", "s", "go", &hear).unwrap();
    assert_eq!(*told.lock().unwrap(), "a [FILTERED] b");
}

#[test]
fn a_secret_that_was_kept_before_it_was_configured_is_not_sent_either() {
    let fixture = Fixture::new(vec![say("hello")]);
    fixture.turn(&format!("my key is {SECRET}")).unwrap();
    assert!(fixture.kept("s")[0].contains(SECRET), "nobody knew yet");
    let later = Fixture::with(vec![say("again")], |config| config.secrets = vec![SECRET.to_owned()]);
    let from = fixture.home().join("state/sessions/main/s.jsonl");
    let to = later.home().join("state/sessions/main");
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(from, to.join("s.jsonl")).unwrap();
    later.turn("and now").unwrap();
    assert_eq!(later.sent()[0].content, "my key is [FILTERED]");
    assert!(later.kept("s")[0].contains("[filtered]"), "nor shown");
}

#[test]
fn a_failing_provider_tells_no_secret() {
    let fixture =
        Fixture::with(vec![Act::Say(Default::default())], |config| config.secrets = vec![SECRET.to_owned()]);
    assert!(!fixture.turn(SECRET).unwrap().answer.contains(SECRET));
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
