//! Rounds: calls, results, limits, and answers that are none.

use crate::fixture::{Act, Fixture, call, say};
use picoclaw_agent::message::{Role, ToolCall};
use picoclaw_agent::providers::{Answer, ErrorClass, ProviderKind};
use picoclaw_agent::run::{Event, TurnError};
use std::sync::Mutex;

#[test]
fn calls_run_in_order_and_each_gets_one_result() {
    let fixture = Fixture::new(vec![
        call(&[
            ("write_file", r#"{"path": "a.txt", "content": "one"}"#),
            ("exec", r#"{"command": "cat a.txt"}"#),
            ("read_file", r#"{"path": "/etc/passwd"}"#),
        ]),
        say("done"),
    ]);
    let told = Mutex::new(Vec::new());
    let hear = |event: Event| {
        let word = match event {
            Event::ToolCall { id, tool, .. } => format!("call {id} {tool}"),
            Event::ToolOutput { id, line } => format!("output {id} {}", line.trim_end()),
            Event::ToolResult { id, .. } => format!("result {id}"),
            Event::Text(text) => format!("text {text}"),
            other => format!("{other:?}"),
        };
        told.lock().unwrap().push(word);
    };
    let ending = fixture.turn_as("main", "s", "go", &hear).unwrap();
    assert_eq!((ending.answer.as_str(), ending.rounds, ending.failed), ("done", 2, true));
    let sent = fixture.sent();
    let roles: Vec<Role> = sent.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Tool]);
    let ids: Vec<_> = sent[2..].iter().map(|message| message.tool_call_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["c0", "c1", "c2"]);
    assert_eq!(sent[3].content.trim(), "one", "the second call saw what the first one did");
    assert!(sent[4].content.starts_with("access denied: path is outside the workspace"), "{:?}", sent[4]);
    assert_eq!(
        *told.lock().unwrap(),
        [
            "call c0 write_file",
            "result c0",
            "call c1 exec",
            "output c1 one",
            "result c1",
            "call c2 read_file",
            "result c2",
            "text don",
            "text e"
        ]
    );
}

#[test]
fn reaching_the_limit_of_rounds_names_the_key() {
    let again = || call(&[("list_dir", "{}")]);
    let fixture =
        Fixture::with(vec![again(), again(), again()], |config| config.turns.max_tool_iterations = 2);
    let ending = fixture.turn("go").unwrap();
    assert!(ending.answer.contains("max_tool_iterations"), "{}", ending.answer);
    assert_eq!((ending.rounds, fixture.asked().len()), (2, 2));
    assert!(fixture.kept("s").last().unwrap().contains("max_tool_iterations"));
}

#[test]
fn a_call_that_fits_no_tool_is_refused_recorded_and_told() {
    for (why, tool, arguments, sentence, code) in [
        (
            "half a JSON",
            "exec",
            r#"{"command": "ls"#,
            "invalid arguments for tool \"exec\": not JSON: ",
            "invalid_arguments",
        ),
        (
            "no object",
            "exec",
            "[1]",
            "invalid arguments for tool \"exec\": expected an object",
            "invalid_arguments",
        ),
        (
            "an unknown field",
            "list_dir",
            r#"{"pth": "."}"#,
            "invalid arguments for tool \"list_dir\": unexpected property",
            "invalid_arguments",
        ),
        ("an unknown tool", "rm", "{}", "tool \"rm\" not found", "unknown_tool"),
        ("an unknown tool with half a JSON", "rm", "{", "tool \"rm\" not found", "unknown_tool"),
    ] {
        let fixture = Fixture::new(vec![call(&[(tool, arguments)]), say("oh")]);
        fixture.turn("go").unwrap();
        let result = &fixture.sent()[2];
        assert!(result.content.starts_with(sentence), "{why}: {}", result.content);
        let records = fixture.records();
        let phases: Vec<_> = records.iter().map(|record| record["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["decided", "finished"], "{why}");
        for record in &records {
            assert_eq!(
                (record["verdict"].as_str(), record["code"].as_str()),
                (Some("deny"), Some(code)),
                "{why}"
            );
            assert_eq!(
                (record["origin"].as_str(), record["session"].as_str()),
                (Some("cli"), Some("s")),
                "{why}"
            );
        }
    }
}

#[test]
fn no_arguments_are_none() {
    for text in ["", " ", "null", "{}"] {
        let fixture = Fixture::new(vec![call(&[("list_dir", text)]), say("ok")]);
        assert!(!fixture.turn("go").unwrap().failed, "{text:?}");
    }
}

#[test]
fn calls_that_cannot_be_told_apart_are_named() {
    let same = |id: &str| ToolCall { id: id.into(), name: "list_dir".into(), arguments: "{}".into() };
    let answer = Answer { tool_calls: vec![same(""), same("x"), same("x")], ..Answer::default() };
    let fixture = Fixture::new(vec![Act::Say(answer), say("ok")]);
    fixture.turn("go").unwrap();
    let sent = fixture.sent();
    let called: Vec<_> = sent[1].tool_calls.iter().map(|call| call.id.clone()).collect();
    let answered: Vec<_> = sent[2..].iter().filter_map(|message| message.tool_call_id.clone()).collect();
    assert_eq!(called, ["call_1_0", "x", "call_1_2"]);
    assert_eq!(called, answered);
}

#[test]
fn an_answer_without_words_says_so() {
    for empty in ["", " \n"] {
        let fixture = Fixture::new(vec![say(empty)]);
        let answer = fixture.turn("go").unwrap().answer;
        assert_eq!(
            answer,
            "The model returned an empty response. This may indicate a provider error or token limit."
        );
    }
}

#[test]
fn a_failure_before_anything_was_done_leaves_no_question_behind() {
    let fixture = Fixture::new(vec![Act::Fail(ErrorClass::Auth, "401"), say("hello")]);
    let why = fixture.turn("first").unwrap_err();
    assert!(matches!(why, TurnError::Provider(_)), "{why}");
    assert_eq!(fixture.kept("s"), Vec::<String>::new());
    fixture.turn("second").unwrap();
    assert_eq!(fixture.kept("s"), ["user: second", "assistant: hello"]);
}

#[test]
fn a_failure_after_tools_keeps_what_they_did() {
    let fixture =
        Fixture::new(vec![call(&[("list_dir", "{}")]), Act::Fail(ErrorClass::Network, "gone"), say("hello")]);
    fixture.turn("first").unwrap_err();
    assert_eq!(fixture.kept("s").len(), 3);
    fixture.turn("second").unwrap();
    let roles: Vec<Role> = fixture.sent().iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::User],
        "and the history is one that providers take"
    );
}

#[test]
fn encodings_are_taken_out_for_models_alone() {
    let code: String = "aB3+".chars().cycle().take(4000).collect();
    for (kind, is_plain) in [(ProviderKind::Model, true), (ProviderKind::Direct, false)] {
        let fixture =
            Fixture::build(vec![call(&[("read_file", r#"{"path": "b64"}"#)]), say("ok")], kind, |_| {});
        std::fs::write(fixture.workspace().join("b64"), &code).unwrap();
        fixture.turn("go").unwrap();
        assert_eq!(
            fixture.sent()[2].content.contains("[base64 removed: 4000 characters]"),
            is_plain,
            "{kind:?}"
        );
    }
}

#[test]
fn a_model_that_nobody_knows_is_an_error_of_its_own() {
    let fixture = Fixture::new(vec![]);
    let turn = picoclaw_agent::run::Turn {
        subject: crate::fixture::subject("main", "s"),
        input: "x".to_owned(),
        model: Some("nobody".to_owned()),
        events: &|_| {},
        steering: &fixture.steering,
        halt: &fixture.halt,
    };
    assert!(matches!(crate::fixture::run(fixture.runner.turn(turn)), Err(TurnError::NoModel(_))));
    assert!(matches!(fixture.turn_as("stranger", "s", "x", &|_| {}), Err(TurnError::NoAgent(_))));
}

#[test]
fn an_aside_remembers_nothing_and_is_not_remembered() {
    let fixture = Fixture::new(vec![say("one"), say("two")]);
    fixture.turn("first").unwrap();
    let turn = picoclaw_agent::run::Turn {
        subject: crate::fixture::subject("main", "s"),
        input: "aside".to_owned(),
        model: None,
        events: &|_| {},
        steering: &fixture.steering,
        halt: &fixture.halt,
    };
    crate::fixture::run(fixture.runner.run_ephemeral(turn)).unwrap();
    assert_eq!(fixture.sent().len(), 1, "nothing of the session was sent");
    assert_eq!(fixture.kept("s"), ["user: first", "assistant: one"]);
}
