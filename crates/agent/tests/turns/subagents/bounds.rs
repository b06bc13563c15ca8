//! Depth, places, time and tokens: each bound holds.

use super::play::Stage;
use crate::fixture::{Act, call, costing, run, say};
use picoclaw_policy::config::Config;
use std::time::Duration;

/// A runtime whose clock jumps to the next thing that happens.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let bounded = async { tokio::time::timeout(Duration::from_secs(3600), future).await };
    runtime.block_on(bounded).unwrap_or_else(|_| panic!("the turn took longer than an hour"))
}

fn spawns(tasks: &[&str]) -> Act {
    let arguments: Vec<_> = tasks.iter().map(|task| format!(r#"{{"task": "{task}"}}"#)).collect();
    let calls: Vec<_> = arguments.iter().map(|arguments| ("spawn", arguments.as_str())).collect();
    call(&calls)
}

fn places(most: u64) -> impl FnOnce(&mut Config) {
    move |config| config.turns.subturn.max_concurrent = most
}

fn results(told: &[String]) -> Vec<String> {
    let mut found: Vec<_> =
        told.iter().filter(|text| text.starts_with("[SubTurn Result] ")).cloned().collect();
    found.sort();
    found
}

#[test]
fn no_more_think_at_once_than_there_are_places() {
    for (most, seen) in [(1, 1), (2, 2), (5, 4)] {
        let step = || vec![call(&[("list_dir", r#"{"path": "."}"#)]), say("done")];
        let mut waits: Vec<Act> = (0..5).map(|_| say("wait")).collect();
        waits.insert(0, spawns(&["t1", "t2", "t3", "t4"]));
        let stage = Stage::new(
            [("go", waits), ("t1", step()), ("t2", step()), ("t3", step()), ("t4", step())],
            places(most),
        );
        stage.play.together.store(seen, std::sync::atomic::Ordering::SeqCst);
        stage.answer("go");
        assert_eq!(results(&stage.told("go")).len(), 4, "{most}: every result comes");
        assert!(stage.most() <= most as usize, "{most}: {} thought at once", stage.most());
        assert_eq!(stage.most(), seen, "{most}: and as many as may");
    }
}

#[test]
fn subagents_at_their_limit_do_not_lock_each_other() {
    let subagent = |task: &str| call(&[("subagent", format!(r#"{{"task": "{task}"}}"#).as_str())]);
    let stage = Stage::new(
        [
            ("go", vec![spawns(&["t1", "t2"]), say("wait"), say("wait"), say("end")]),
            // One waits for a subagent of its own, the other for one in the background.
            ("t1", vec![subagent("below t1"), say("1")]),
            ("below t1", vec![say("11")]),
            ("t2", vec![spawns(&["below t2"]), say("wait"), say("2")]),
            ("below t2", vec![say("22")]),
        ],
        places(1),
    );
    stage.answer("go");
    let told = results(&stage.told("go"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("[SubTurn Result] 1\n") && told[1].starts_with("[SubTurn Result] 2\n"),
        "{told:?}"
    );
    assert_eq!(stage.told("t1")[2], "11");
    assert!(results(&stage.told("t2"))[0].starts_with("[SubTurn Result] 22\n"));
    assert_eq!(stage.most(), 1);
}

#[test]
fn one_lane_is_enough_for_a_turn_and_all_its_subagents() {
    let subagent = call(&[("subagent", r#"{"task": "t1"}"#)]);
    let stage = Stage::new(
        [
            ("go", vec![subagent, spawns(&["t2"]), say("wait"), say("end")]),
            ("t1", vec![say("1")]),
            ("t2", vec![say("2")]),
        ],
        |config| config.turns.max_parallel_turns = 1,
    );
    stage.answer("go");
    let told = stage.told("go");
    assert_eq!((told[2].as_str(), results(&told).len()), ("1", 1), "{told:?}");
}

#[test]
fn who_finds_no_place_in_time_fails_and_who_takes_too_long_is_stopped() {
    let stage = Stage::new(
        [
            ("go", vec![spawns(&["hangs", "waits"]), say("wait"), say("wait"), say("end")]),
            ("hangs", vec![Act::Hang]),
            ("waits", vec![say("never")]),
        ],
        |config| {
            config.turns.subturn.max_concurrent = 1;
            config.turns.subturn.concurrency_timeout_sec = 7;
            config.turns.subturn.default_timeout_minutes = 2;
        },
    );
    let took = at_once(async {
        let began = tokio::time::Instant::now();
        stage.turn("s", "go", &|_| {}).await.unwrap();
        began.elapsed()
    });
    let told = results(&stage.told("go"));
    assert!(told[0].contains("it did not end within 2 min"), "{told:?}");
    assert!(told[1].contains("sub-turn concurrency limit exceeded: 1 run already"), "{told:?}");
    assert!((119..=122).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn a_subagent_stops_when_its_tokens_are_spent() {
    let look = || costing(call(&[("list_dir", r#"{"path": "."}"#)]), 60);
    let deeper = || costing(call(&[("subagent", r#"{"task": "below"}"#)]), 60);
    for (why, set, acts, want) in [
        (
            "its own budget",
            (100, 0),
            vec![look(), look(), look(), say("end")],
            Some(
                "Stopped: this subagent has used 120 tokens, and `agents.defaults.subturn.default_token_budget` is 100.",
            ),
        ),
        (
            "what those below it used is its own",
            (100, 0),
            vec![deeper(), say("end")],
            Some("Stopped: this subagent has used 120 tokens"),
        ),
        (
            "the turn's budget is everybody's",
            (0, 100),
            vec![look(), look(), look(), say("end")],
            Some("Stopped: this turn has used 121 tokens, and `agents.defaults.turn_token_budget` is 100."),
        ),
        ("control: no budget", (0, 0), vec![look(), look(), look(), say("end")], None),
    ] {
        let stage = Stage::new(
            [
                ("go", vec![costing(call(&[("subagent", r#"{"task": "x"}"#)]), 1), say("over")]),
                ("x", acts),
                ("below", vec![costing(say("b"), 60)]),
            ],
            |config| {
                config.turns.subturn.default_token_budget = set.0;
                config.turns.turn_token_budget = set.1;
            },
        );
        let ending = run(stage.turn("s", "go", &|_| {})).unwrap();
        let kept = stage.runner.sessions().read(&picoclaw_policy::AgentId::main(), "s").unwrap().messages;
        let reply = &kept[2].content;
        match want {
            Some(want) => assert!(reply.starts_with(want), "{why}: {reply}"),
            None => assert_eq!(reply, "end", "{why}"),
        }
        let stopped = ending.answer.starts_with("Stopped: this turn");
        assert_eq!(stopped, set.1 > 0, "{why}: {}", ending.answer);
    }
}

#[test]
fn a_day_of_the_starters_is_not_longer_for_its_subagents() {
    let stage = Stage::new(
        [
            (
                "go",
                vec![costing(call(&[("delegate", r#"{"agent_id": "coder", "task": "x"}"#)]), 10), say("end")],
            ),
            ("x", vec![costing(call(&[("list_dir", r#"{"path": "."}"#)]), 100), say("no")]),
        ],
        |config| {
            super::play::three(config);
            config.agents[0].token_budget = 100;
        },
    );
    let answer = stage.answer("go");
    assert!(answer.starts_with("Stopped: agent `main` has used 110 tokens today"), "{answer}");
    let again = run(stage.turn("t", "go", &|_| {})).unwrap_err().to_string();
    assert!(again.starts_with("Stopped: agent `main` has used 110 tokens today"), "{again}");
}

#[test]
fn a_subagent_is_sent_its_task_and_fifty_messages() {
    let mut acts: Vec<Act> = (0..40).map(|_| call(&[("list_dir", r#"{"path": "."}"#)])).collect();
    acts.push(say("end"));
    let stage = Stage::new(
        [("go", vec![call(&[("subagent", r#"{"task": "long"}"#)]), say("end")]), ("long", acts)],
        |config| config.turns.max_tool_iterations = 100,
    );
    stage.answer("go");
    let told = stage.told("long");
    assert!((45..=50).contains(&told.len()), "{}", told.len());
    assert!(told[0].ends_with("Task: long"));
}

#[test]
fn a_turn_starts_only_so_many() {
    let tasks: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let stage = Stage::new([("go", vec![spawns(&tasks), Act::Hang])], |config| {
        config.turns.subturn.concurrency_timeout_sec = 1;
        config.turns.subturn.max_per_turn = 100;
        config.turns.subturn.max_per_session = 100;
    });
    let halt = stage.halt.clone();
    let rounds = std::sync::atomic::AtomicUsize::new(0);
    stage.hear(move |part| {
        if part == "go" && rounds.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            halt.cancel();
        }
    });
    stage.play.others_hang();
    run(stage.turn("s", "go", &|_| {})).unwrap_err();
    let told = stage.told("go");
    let refused =
        told.iter().filter(|text| text.contains("32 subagents of this turn are already running")).count();
    assert_eq!(refused, 8, "{told:?}");
}

#[test]
fn a_turn_and_a_session_start_so_many_and_no_more() {
    use crate::fixture::Fixture;
    // A model that answers each result with another subagent.
    let spawn = || call(&[("subagent", r#"{"task": "more"}"#)]);
    let acts = |count: usize| {
        let mut acts: Vec<Act> = Vec::new();
        (0..count).for_each(|_| acts.extend([spawn(), say("less")]));
        acts
    };
    let refusals = |fixture: &Fixture, key: &str| {
        let sent = fixture.sent();
        let named = sent.iter().filter(|one| one.content.starts_with("sub-turn limit exceeded: "));
        named.filter(|one| one.content.contains(key)).count()
    };
    let mut script = acts(3);
    script.extend([spawn(), spawn(), say("done")]);
    let fixture = Fixture::with(script, |config| config.turns.subturn.max_per_turn = 3);
    assert_eq!(fixture.turn("go").unwrap().answer, "done");
    assert_eq!(refusals(&fixture, "max_per_turn"), 2);
    // In the same session, over several turns; another session has its own count.
    let mut script = acts(2);
    script.push(say("one"));
    script.extend(acts(1));
    script.extend([spawn(), say("two")]);
    script.extend(acts(2));
    script.push(say("three"));
    let fixture = Fixture::with(script, |config| config.turns.subturn.max_per_session = 3);
    assert_eq!(fixture.turn("go").unwrap().answer, "one");
    assert_eq!(fixture.turn("go").unwrap().answer, "two");
    assert_eq!(refusals(&fixture, "max_per_session"), 1);
    assert_eq!(fixture.turn_as("main", "other", "go", &|_| {}).unwrap().answer, "three");
}
