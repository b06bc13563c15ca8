//! Turns under the eyes of hooks: real programs, asked at every call.

use crate::fixture::{Fixture, call, say};
use picoclaw_agent::run::{Event, Turn, TurnError};
use picoclaw_policy::config::{Config, HookConfig, Secret};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;

/// A hook that answers everything it is asked with `manner`.
pub(crate) fn hooked(config: &mut Config, intercept: &[&str], manner: &str) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/peers/hook.py");
    config.hooks.processes = vec![HookConfig {
        name: "judge".to_owned(),
        enabled: true,
        priority: 0,
        command: vec!["python3".to_owned(), script.to_str().unwrap().to_owned(), manner.to_owned()],
        dir: None,
        env: Vec::new(),
        observe: Vec::new(),
        intercept: intercept.iter().map(ToString::to_string).collect(),
    }];
}

/// One turn with one call of `exec`; what the model was told of it, and the records of that call.
fn told(intercept: &[&str], manner: &str) -> (String, Vec<Value>) {
    let acts = vec![call(&[("exec", r#"{"command": "echo ran"}"#)]), say("done")];
    let fixture = Fixture::with(acts, |config| hooked(config, intercept, manner));
    assert_eq!(fixture.turn("go").unwrap().answer, "done");
    let result = fixture.sent().last().unwrap().content.clone();
    let records = fixture.records().into_iter().filter(|record| record["tool"] == "exec").collect();
    (result, records)
}

#[test]
fn a_hook_that_objects_keeps_a_call_from_happening_and_is_in_the_ledger() {
    for (why, moment, manner, want) in [
        (
            "denied",
            "before_tool",
            r#"{"action": "deny_tool", "reason": "not today"}"#,
            "Tool execution denied by hook: not today",
        ),
        (
            "not approved",
            "approve_tool",
            r#"{"approved": false, "reason": "too late"}"#,
            "Tool execution denied by approval hook: too late",
        ),
        ("garbage is a no", "before_tool", "garbage", "Tool execution denied by hook: "),
        ("death is a no", "approve_tool", "dies", "Tool execution denied by approval hook: "),
    ] {
        let (result, records) = told(&[moment], manner);
        assert!(result.starts_with(want), "{why}: {result}");
        let phases: Vec<_> = records.iter().map(|record| record["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["decided", "finished"], "{why}");
        assert_eq!(records[0]["verdict"], "deny", "{why}");
        assert_eq!(records[0]["layer"], "hook", "{why}");
    }
}

#[test]
fn a_hook_that_agrees_changes_nothing() {
    let (result, _) = told(&["before_tool", "approve_tool"], r#"{"action": "continue", "approved": true}"#);
    assert_eq!(result, "ran\n");
}

#[test]
fn a_changed_call_is_judged_like_any_other() {
    let change = |command: &str| {
        format!(r#"{{"action": "modify", "call": {{"arguments": {{"command": "{command}"}}}}}}"#)
    };
    let (result, _) = told(&["before_tool"], &change("echo changed"));
    assert_eq!(result, "changed\n");
    let (result, records) = told(&["before_tool"], &change("cat /etc/shadow"));
    assert!(result.starts_with("Command blocked by safety guard"), "a hook widens nothing: {result}");
    assert_eq!(records[0]["layer"], "guard");
}

#[test]
fn an_answer_in_place_of_a_call_still_wants_approval() {
    let respond = r#"{"action": "respond", "result": {"for_llm": "cached"}, "approved": APPROVED}"#;
    let (result, records) = told(&["before_tool", "approve_tool"], &respond.replace("APPROVED", "true"));
    assert_eq!(result, "cached");
    assert_eq!(records.len(), 2, "and it is recorded");
    let (result, _) = told(&["before_tool", "approve_tool"], &respond.replace("APPROVED", "false"));
    assert!(result.starts_with("Tool execution denied by approval hook"), "{result}");
}

#[test]
fn a_result_can_be_changed_for_the_model() {
    let manner = r#"{"action": "modify", "result": {"for_llm": "less than that"}}"#;
    assert_eq!(told(&["after_tool"], manner).0, "less than that");
}

#[test]
fn a_result_in_the_form_of_the_original_program_is_taken() {
    for (why, manner) in [
        (
            "modify",
            r#"{"action": "modify", "result": {"meta": {}, "tool": "exec", "result": {"for_llm": "less", "for_user": "more"}, "duration": 1}}"#,
        ),
        ("continue", r#"{"action": "continue", "result": {"result": {"for_llm": "less"}}}"#),
        ("no action", r#"{"result": {"result": {"for_llm": "less"}}}"#),
    ] {
        assert_eq!(told(&["after_tool"], manner).0, "less", "{why}");
    }
    for manner in ["{}", r#"{"action": ""}"#, r#"{"action": "continue"}"#] {
        assert_eq!(told(&["after_tool"], manner).0, "ran\n", "control: {manner}");
    }
}

#[test]
fn a_hook_whose_answer_cannot_be_understood_withholds_the_result() {
    for manner in [
        r#"{"action": "modify"}"#,
        r#"{"action": "modify", "result": {"text": "less"}}"#,
        r#"{"action": "modify", "result": {"for_llm": 5}}"#,
        r#"{"action": "modify", "result": {"result": "less"}}"#,
        r#"{"action": "modify", "result": {"for_llm": "less", "is_error": "no"}}"#,
        r#"{"action": "redact"}"#,
        r#"{"action": "deny_tool"}"#,
        r#"{"acton": "modify"}"#,
        r#"[]"#,
        "garbage",
        "error",
        "dies",
    ] {
        let (result, _) = told(&["after_tool"], manner);
        assert!(result.starts_with("Tool result withheld: hook `judge` "), "{manner}: {result}");
        assert!(!result.contains("ran"), "{manner}: {result}");
    }
}

#[test]
fn an_answer_of_the_model_can_be_changed_in_either_form() {
    let answered = |manner: &str| {
        let fixture = Fixture::with(vec![say("secret")], |config| hooked(config, &["after_llm"], manner));
        fixture.turn("go").map(|outcome| outcome.answer)
    };
    for manner in [
        r#"{"action": "modify", "response": {"content": "less"}}"#,
        r#"{"action": "modify", "response": {"meta": {}, "model": "m", "response": {"content": "less", "tool_calls": []}}}"#,
        r#"{"action": "continue", "response": {"response": {"content": "less"}}}"#,
    ] {
        assert_eq!(answered(manner).unwrap(), "less", "{manner}");
    }
    for manner in [
        r#"{"action": "modify"}"#,
        r#"{"action": "modify", "response": {"text": "less"}}"#,
        r#"{"action": "modify", "response": {"content": ["less"]}}"#,
        r#"{"action": "modify", "response": {"response": {"tool_calls": "none"}}}"#,
        r#"{"action": "deny_tool"}"#,
        "garbage",
        "error",
        "dies",
    ] {
        let failed = answered(manner);
        assert!(
            failed.as_ref().is_err_and(|why| why.to_string().contains("`judge`")),
            "{manner}: {failed:?}"
        );
    }
    assert_eq!(answered(r#"{"action": "continue"}"#).unwrap(), "secret", "control");
}

#[test]
fn an_answer_is_streamed_when_the_hook_has_seen_it() {
    let shown = |intercept: &[&str]| {
        let manner = r#"{"action": "modify", "response": {"content": "less"}}"#;
        let fixture = Fixture::with(vec![say("a secret")], |config| hooked(config, intercept, manner));
        let heard = Mutex::new(String::new());
        let events = |event: Event| {
            if let Event::Text(text) = event {
                heard.lock().unwrap().push_str(&text);
            }
        };
        fixture.turn_as("main", "s", "go", &events).unwrap();
        heard.into_inner().unwrap()
    };
    assert_eq!(shown(&["before_tool"]), "a secret", "the control");
    assert_eq!(shown(&["after_llm"]), "less");
}

#[test]
fn a_call_that_cannot_be_understood_is_denied() {
    for manner in [
        r#"{"action": "modify"}"#,
        r#"{"action": "modify", "call": {}}"#,
        r#"{"action": "modify", "call": {"args": {"command": "echo less"}}}"#,
        r#"{"action": "modify", "call": {"arguments": "echo less"}}"#,
        r#"{"action": "continue", "call": {"name": "exec"}}"#,
        r#"{"action": "respond"}"#,
        r#"{"Action": "modify"}"#,
    ] {
        let (result, _) = told(&["before_tool"], manner);
        assert!(result.starts_with("Tool execution denied by hook: hook `judge` "), "{manner}: {result}");
    }
}

#[test]
fn a_request_that_cannot_be_understood_ends_the_turn() {
    for (manner, ends) in [
        (r#"{"action": "modify", "request": {"messages": "none"}}"#, true),
        (r#"{"action": "modify", "request": {"tools": [1]}}"#, true),
        (r#"{"action": "modify", "request": {"mesages": []}}"#, true),
        (r#"{"action": "modify"}"#, true),
        ("garbage", true),
        (
            r#"{"action": "modify", "request": {"meta": {}, "model": "m", "messages": [{"role": "user", "content": "x"}]}}"#,
            false,
        ),
    ] {
        let fixture = Fixture::with(vec![say("done")], |config| hooked(config, &["before_llm"], manner));
        let outcome = fixture.turn("go");
        assert_eq!(outcome.is_err(), ends, "{manner}: {outcome:?}");
        assert_eq!(fixture.asked().is_empty(), ends, "{manner}: whether the model was asked");
    }
}

#[test]
fn a_subagents_calls_pass_the_same_hooks() {
    let manner = r#"{"action": "modify", "result": {"for_llm": "less than that"}}"#;
    let acts = vec![
        call(&[("subagent", r#"{"task": "look"}"#)]),
        call(&[("exec", r#"{"command": "echo ran"}"#)]),
        say("seen"),
        say("done"),
    ];
    let fixture = Fixture::with(acts, |config| hooked(config, &["after_tool"], manner));
    assert_eq!(fixture.turn("go").unwrap().answer, "done");
    let asked = fixture.asked();
    let last = |round: usize| asked[round].messages.last().unwrap().content.clone();
    assert!(asked[1].messages[1].content.starts_with("You are a spawned subagent"));
    assert_eq!(last(2), "less than that", "what the subagent was told of its own call");
}

#[test]
fn observers_are_told_of_subagents() {
    let theirs = tempfile::tempdir().unwrap();
    let acts = vec![call(&[("subagent", r#"{"task": "look"}"#)]), say("seen"), say("done")];
    let fixture = Fixture::with(acts, |config| {
        hooked(config, &["before_tool"], r#"{"action": "continue"}"#);
        config.hooks.processes[0].observe = vec!["agent.subturn.*".to_owned()];
        config.hooks.processes[0].env =
            vec![("HOME".to_owned(), Secret::new(theirs.path().to_str().unwrap()))];
    });
    let log = theirs.path().join("events");
    let want = "agent.subturn.spawn\nagent.subturn.end\n";
    let told = || std::fs::read_to_string(&log).unwrap_or_default();
    crate::fixture::run(async {
        let turn = Turn {
            subject: crate::fixture::subject("main", "s"),
            input: "go".to_owned(),
            model: None,
            events: &|_| {},
            steering: &fixture.steering,
            halt: &fixture.halt,
        };
        fixture.runner.turn(turn).await.unwrap();
        // Observers are not waited for, so the end of the turn may come first.
        while told() != want {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    assert_eq!(told(), want);
}

#[test]
fn a_hook_that_does_not_come_fails_the_turn_and_is_named() {
    let fixture = Fixture::with(vec![say("never")], |config| {
        hooked(config, &["before_tool"], "");
        config.hooks.processes[0].command = vec!["/nonexistent/hook".to_owned()];
    });
    let failed = fixture.turn("go");
    assert!(matches!(&failed, Err(TurnError::Hook(why)) if why.contains("`judge`")), "{failed:?}");
    assert!(fixture.asked().is_empty(), "and no model was asked");
}

#[test]
fn a_hook_can_end_a_turn() {
    for (why, action, kept) in [("ended", "abort_turn", true), ("undone", "hard_abort", false)] {
        let acts = vec![call(&[("exec", r#"{"command": "echo ran"}"#)]), say("never")];
        let manner = format!(r#"{{"action": "{action}", "reason": "enough"}}"#);
        let fixture = Fixture::with(acts, |config| hooked(config, &["before_tool"], &manner));
        let ended = fixture.turn("go");
        assert!(ended.is_err_and(|error| error.to_string().contains("enough")), "{why}");
        assert_eq!(!fixture.kept("s").is_empty(), kept, "{why}: what stays of it");
    }
}

#[test]
fn a_hook_is_told_which_model_will_be_asked() {
    let manner = r#"{"action": "abort_turn", "reason": "asking MODEL"}"#;
    let fixture = Fixture::with(vec![say("never")], |config| hooked(config, &["before_llm"], manner));
    let ended = fixture.turn("go");
    assert!(ended.as_ref().is_err_and(|error| error.to_string().ends_with("asking script")), "{ended:?}");
}
