//! Ends: a turn that is stopped stops what it started, and nothing is left running.

use super::play::Stage;
use crate::fixture::{Act, call, run, say};
use picoclaw_agent::run::TurnError;
use picoclaw_testing::{PATIENCE, wait_for, wait_until};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// Waits until a process wrote its number, and says which.
fn pid(file: &Path) -> i32 {
    wait_for("something is started", || std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

fn wait_for_the_end_of(pid: i32) {
    wait_until("its end", || is_gone(pid));
}

const SLEEPER: &str = r#"{"command": "echo $$ > pid; exec sleep 300"}"#;

#[test]
fn stopping_a_turn_stops_what_it_started() {
    for (why, tool, waits) in [
        ("one that is waited for", "subagent", vec![]),
        ("one in the background", "spawn", vec![say("wait")]),
        ("one in the background, beside a thinking parent", "spawn", vec![Act::Hang]),
    ] {
        let start = call(&[(tool, r#"{"task": "x"}"#)]);
        let acts = std::iter::once(start).chain(waits).collect();
        let stage = Stage::new([("go", acts), ("x", vec![call(&[("exec", SLEEPER)])])], |config| {
            config.isolation.enabled = false;
        });
        let (halt, file) = (stage.halt.clone(), stage.home().join("workspace/pid"));
        let stopper = std::thread::spawn(move || {
            let pid = pid(&file);
            halt.cancel();
            pid
        });
        let began = Instant::now();
        let ended = run(stage.turn("s", "go", &|_| {}));
        assert!(matches!(ended, Err(TurnError::Halted)), "{why}: {ended:?}");
        assert!(began.elapsed() < PATIENCE, "{why}: {:?}", began.elapsed());
        wait_for_the_end_of(stopper.join().unwrap());
        let records = stage.records();
        for record in records.iter().filter(|record| record["phase"] == "decided") {
            let closed = records.iter().any(|other| {
                other["phase"] != "decided"
                    && other["tool"] == record["tool"]
                    && other["depth"] == record["depth"]
            });
            assert!(closed, "{why}: {record} was never closed");
        }
        assert!(
            stage.runner.sessions().list(&picoclaw_policy::AgentId::main()).unwrap().is_empty(),
            "{why}: the session is as before"
        );
    }
}

#[test]
fn a_turn_that_fails_leaves_nobody_behind() {
    let stage =
        Stage::new([("go", vec![call(&[("spawn", r#"{"task": "x"}"#)])]), ("x", vec![Act::Hang])], |_| {});
    let began = Instant::now();
    let why = run(stage.turn("s", "go", &|_| {})).unwrap_err();
    assert_eq!(why.to_string(), "LLM call failed after retries: the play is over");
    assert!(began.elapsed() < PATIENCE);
    // Perhaps before it began.
    let is_stopped =
        |outcome: &Value| outcome.as_str().is_some_and(|text| text.starts_with("it was stopped"));
    let closed = stage.records().iter().any(|record| {
        record["tool"] == "spawn" && record["phase"] == "finished" && is_stopped(&record["outcome"])
    });
    assert!(closed, "{:?}", stage.records());
}

#[test]
fn a_turn_that_is_asked_to_end_stops_them_and_sums_up() {
    let stage = Stage::new(
        [
            ("go", vec![call(&[("spawn", r#"{"task": "x"}"#)]), say("summed up"), say("summed up")]),
            ("x", vec![Act::Hang]),
        ],
        |_| {},
    );
    let steering = std::sync::Arc::clone(&stage.steering);
    stage.hear(move |part| {
        if part == "x" {
            steering.interrupt();
        }
    });
    assert_eq!(stage.answer("go"), "summed up");
    let tools = stage.play.asked.lock().unwrap().last().unwrap().1.tools.len();
    assert_eq!(tools, 0, "the last request offers nothing");
}

#[test]
fn words_that_come_while_it_waits_are_heard_at_once() {
    let stage = Stage::new(
        [
            ("go", vec![call(&[("spawn", r#"{"task": "x"}"#)]), say("wait"), say("heard you"), say("end")]),
            (
                "x",
                vec![
                    call(&[("exec", r#"{"command": "while [ ! -e go-on ]; do sleep 0.01; done"}"#)]),
                    say("late"),
                ],
            ),
        ],
        |_| {},
    );
    let (steering, file) = (std::sync::Arc::clone(&stage.steering), stage.home().join("workspace/go-on"));
    let rounds = std::sync::atomic::AtomicUsize::new(0);
    stage.hear(move |part| {
        if part == "x" {
            return;
        }
        match rounds.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            // It has said that it waits, and hears this before the result, which waits for the file.
            1 => steering.say("are you there?").unwrap(),
            2 => std::fs::write(&file, "").unwrap(),
            _ => {}
        }
    });
    assert_eq!(stage.answer("go"), "end");
    let told = stage.told("go");
    let at = |needle: &str| told.iter().position(|text| text.starts_with(needle)).unwrap();
    assert!(
        at("are you there?") < at("heard you") && at("heard you") < at("[SubTurn Result] late"),
        "{told:?}"
    );
}

#[test]
fn what_a_subagent_leaves_in_the_background_ends_with_it() {
    let background = r#"{"command": "echo $$ > pid; exec sleep 300", "background": true}"#;
    let list = || call(&[("exec", r#"{"action": "list"}"#)]);
    let stage = Stage::new(
        [
            ("go", vec![call(&[("subagent", r#"{"task": "x"}"#)]), list(), say("end")]),
            (
                "x",
                vec![
                    call(&[("exec", background)]),
                    call(&[("exec", r#"{"command": "while [ ! -s pid ]; do sleep 0.01; done"}"#)]),
                    list(),
                    say("left it"),
                ],
            ),
        ],
        |config| config.isolation.enabled = false,
    );
    stage.answer("go");
    let own = stage.told("x")[6].clone();
    assert!(own.contains("sleep 300") || own.contains("sessionId"), "control: its own it sees: {own}");
    let parents = stage.told("go")[4].clone();
    assert!(!parents.contains("sleep 300"), "{parents}");
    wait_for_the_end_of(pid(&stage.home().join("workspace/pid")));
}
