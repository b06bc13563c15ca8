//! Where results go: to the turn that asked, once, and to no other.

use super::play::{GATE, Stage, three};
use crate::fixture::{Act, call, costing, run, say};
use picoclaw_agent::providers::ErrorClass;
use picoclaw_agent::run::Event;
use picoclaw_agent::run::SubagentEvent;
use std::sync::Mutex;

#[test]
fn a_subagent_that_is_waited_for_answers_as_a_tool_does() {
    let stage = Stage::new(
        [
            (
                "go",
                vec![call(&[("subagent", r#"{"task": "count it", "label": "counter"}"#)]), say("they are 3")],
            ),
            ("count it", vec![call(&[("exec", r#"{"command": "echo 3"}"#)]), say("three")]),
        ],
        |_| {},
    );
    assert_eq!(stage.answer("go"), "they are 3");
    assert_eq!(stage.told("go")[2], "three", "its answer is the tool's reply");
    let told = stage.told("count it");
    assert!(told[0].starts_with("You are a spawned subagent"), "{told:?}");
    assert!(told[0].ends_with("Task: count it") && !told[0].contains("go\n"), "{told:?}");
    let records = stage.records();
    let lines: Vec<_> = records
        .iter()
        .map(|r| format!("{} {} {} {} {}", r["origin"], r["depth"], r["tool"], r["phase"], r["session"]))
        .collect();
    assert_eq!(
        lines,
        [
            r#""cli" 0 "subagent" "decided" "s""#,
            r#""subagent" 1 "exec" "decided" "s/subagent-1""#,
            r#""subagent" 1 "exec" "finished" "s/subagent-1""#,
            r#""cli" 0 "subagent" "finished" "s""#,
        ],
        "its call walks through the same executor, inside the call that started it"
    );
}

#[test]
fn a_spawned_subagent_brings_its_result_to_the_turn_that_asked() {
    let stage = Stage::new(
        [
            (
                "go",
                vec![
                    call(&[("spawn", r#"{"task": "look it up", "label": "L"}"#)]),
                    say("I have started somebody"),
                    say("it is 42"),
                ],
            ),
            ("look it up", vec![call(&[("exec", GATE)]), say("42")]),
        ],
        |_| {},
    );
    stage.release("go", 2);
    let (seen, said) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let events = |event: Event| match event {
        Event::Subagent { info: who, event: what } => {
            let what = match what {
                SubagentEvent::Began { task } => format!("began {task}"),
                SubagentEvent::Event(_) => return,
                SubagentEvent::Ended { result, .. } => format!("ended {result:?}"),
                SubagentEvent::Delivered => "delivered".to_owned(),
            };
            seen.lock().unwrap().push(format!("{} {what}", who.label));
        }
        Event::Said(text) => said.lock().unwrap().push(text),
        _ => {}
    };
    let ending = run(stage.turn("s", "go", &events)).unwrap();
    assert_eq!(ending.answer, "it is 42", "the turn waits for what it started");
    let told = stage.told("go");
    assert_eq!(told[2], "Spawned subagent 'L' for task: look it up");
    let results: Vec<_> = told.iter().filter(|text| text.starts_with("[SubTurn Result] ")).collect();
    assert_eq!(results, ["[SubTurn Result] 42\n(subagent 'L', subagent-1)"], "once");
    assert_eq!(*seen.lock().unwrap(), ["L began look it up", "L ended Ok(\"42\")", "L delivered"]);
    assert_eq!(*said.lock().unwrap(), ["I have started somebody"], "what is said meanwhile is told");
    let kept = stage.runner.sessions().read(&picoclaw_policy::AgentId::main(), "s").unwrap();
    assert!(kept.messages.iter().any(|message| message.content.starts_with("[SubTurn Result] 42")));
    assert_eq!(
        stage.runner.sessions().list(&picoclaw_policy::AgentId::main()).unwrap().len(),
        1,
        "a subagent's own session is kept nowhere"
    );
}

#[test]
fn two_chats_that_spawn_at_once_never_see_each_others_results() {
    let parts = |own: &'static str, task: &'static str, label: &'static str, word: &'static str| {
        let spawn = format!(r#"{{"task": "{task}", "label": "{label}"}}"#);
        let status = || call(&[("spawn_status", "{}")]);
        [
            (
                own,
                vec![
                    call(&[("spawn", spawn.as_str())]),
                    status(),
                    say("wait"),
                    status(),
                    say("end"),
                    say("end"),
                ],
            ),
            (task, vec![say(word)]),
        ]
    };
    let all = parts("chat a", "task of a", "la", "apples").into_iter();
    let stage = Stage::new(all.chain(parts("chat b", "task of b", "lb", "bananas")), |_| {});
    run(async {
        let (a, b) = tokio::join!(stage.turn("a", "chat a", &|_| {}), stage.turn("b", "chat b", &|_| {}));
        a.unwrap();
        b.unwrap();
    });
    for (own, mine, others) in [
        ("chat a", ["apples", "'la'", "task of a"], ["bananas", "lb", "task of b"]),
        ("chat b", ["bananas", "'lb'", "task of b"], ["apples", "la'", "task of a"]),
    ] {
        let told = stage.told(own).join("\n");
        assert!(told.contains("[SubTurn Result] "), "{own}: {told}");
        assert!(mine.iter().all(|word| told.contains(word)), "{own}: {told}");
        assert!(others.iter().all(|word| !told.contains(word)), "{own}: {told}");
    }
}

#[test]
fn the_status_is_the_truth_of_this_session_alone() {
    let status = |arguments: &str| call(&[("spawn_status", arguments)]);
    let stage = Stage::new(
        [
            (
                "go",
                vec![
                    status("{}"),
                    call(&[("spawn", r#"{"task": "one"}"#)]),
                    status("{}"),
                    say("wait"),
                    status(r#"{"task_id": "subagent-1"}"#),
                    status(r#"{"task_id": "subagent-9"}"#),
                    say("end"),
                ],
            ),
            ("one", vec![call(&[("exec", GATE)]), say("done so")]),
            ("elsewhere", vec![status("{}"), say("end")]),
        ],
        |_| {},
    );
    stage.release("go", 4);
    assert_eq!(stage.answer("go"), "end");
    let told = stage.told("go");
    assert_eq!(told[2], "No subagents have been spawned yet.");
    assert_eq!(told[4], "Spawned subagent for task: one");
    let how = told[6].strip_prefix("subagent-1 (main, task: one): ").unwrap();
    assert!(how.starts_with("running since") || how.starts_with("waiting for a place"), "{how}");
    assert!(
        told.iter().any(|text| text.contains("): completed in ") && text.ends_with(" s: done so")),
        "{told:?}"
    );
    assert!(told.iter().any(|text| text == "this session has no subagent `subagent-9`"), "{told:?}");
    run(stage.turn("other", "elsewhere", &|_| {})).unwrap();
    assert_eq!(stage.told("elsewhere")[2], "No subagents have been spawned yet.");
}

const FAILED: &str = "LLM call failed after retries: the key is wrong";
const MISSING: &str =
    "there is no model `nobody`\nhint: `model_list` is empty; without a model, `direct` is there";

#[test]
fn a_model_that_fails_is_the_result() {
    for (why, set, acts, want) in [
        ("it fails", None, vec![Act::Fail(ErrorClass::Auth, "the key is wrong")], FAILED),
        ("it is not there", Some("nobody"), vec![], MISSING),
    ] {
        let stage = Stage::new(
            [
                (
                    "go",
                    vec![
                        call(&[("subagent", r#"{"task": "try"}"#)]),
                        call(&[("spawn", r#"{"task": "again"}"#)]),
                        say("wait"),
                        say("end"),
                    ],
                ),
                ("try", acts),
                ("again", vec![Act::Fail(ErrorClass::Auth, "the key is wrong")]),
            ],
            |config| config.agents[0].subagent_model = set.map(str::to_owned),
        );
        stage.answer("go");
        let told = stage.told("go");
        assert_eq!(told[2], format!("the subagent failed: {want}"), "{why}");
        assert!(
            told.iter().any(|text| text.starts_with(&format!("[SubTurn Result] Error: {want}"))),
            "{why}: {told:?}"
        );
        let outcome = stage.records()[1]["outcome"].clone();
        assert_eq!(outcome, want, "{why}: the ledger knows as well");
    }
}

#[test]
fn a_subagent_asks_the_model_that_was_chosen_for_it() {
    let spawn = |agent: &str| format!(r#"{{"task": "x", "agent_id": "{agent}"}}"#);
    for (why, starter, own, agent, want) in [
        ("nobody chose", None, None, "main", ("main", "play")),
        ("the starter's choice", Some("small"), None, "main", ("main", "small")),
        ("for another agent too", Some("small"), None, "coder", ("coder", "small")),
        ("but for one that has its own", Some("small"), Some("big"), "coder", ("coder", "big")),
    ] {
        let stage = Stage::new(
            [("go", vec![call(&[("spawn", &spawn(agent))]), say("wait"), say("end")]), ("x", vec![say("y")])],
            |config| {
                three(config);
                config.agents[0].subagent_model = starter.map(str::to_owned);
                config.agents[1].model = own.map(str::to_owned);
            },
        );
        stage.answer("go");
        let models = stage.play.models.lock().unwrap().clone();
        let asked = (want.0.to_owned(), want.1);
        assert!(models.contains(&asked), "{why}: {models:?}");
        let others = models.iter().filter(|other| **other != asked);
        assert!(others.clone().all(|other| other.0 == "main" && other.1 == "play"), "{why}: {models:?}");
    }
}

#[test]
fn what_subagents_cost_is_part_of_what_the_turn_cost() {
    let stage = Stage::new(
        [
            (
                "go",
                vec![
                    costing(call(&[("subagent", r#"{"task": "a"}"#)]), 10),
                    costing(call(&[("spawn", r#"{"task": "b"}"#)]), 10),
                    costing(say("wait"), 10),
                    costing(say("end"), 10),
                ],
            ),
            ("Task: a", vec![costing(say("x"), 100)]),
            ("Task: b", vec![costing(say("x"), 1000)]),
        ],
        |_| {},
    );
    let ending = run(stage.turn("s", "go", &|_| {})).unwrap();
    let own = stage.play.asked.lock().unwrap().iter().filter(|(part, _)| *part == "go").count() as u64;
    assert_eq!(ending.usage.input, 10 * own + 1100);
}
