//! Tokens and the context window: what a turn may use, and what happens when the conversation grows too long.

use crate::fixture::{Act, Fixture, call, costing, say};
use picoclaw_agent::providers::ErrorClass;
use picoclaw_agent::run::{Event, TurnError};
use std::sync::Mutex;

#[test]
fn a_turn_that_has_used_its_tokens_stops_and_names_the_key() {
    let acts =
        vec![costing(call(&[("list_dir", "{}")]), 600), costing(call(&[("list_dir", "{}")]), 600), say("no")];
    let fixture = Fixture::with(acts, |config| config.turns.turn_token_budget = 1000);
    let ending = fixture.turn("go").unwrap();
    assert!(ending.answer.contains("agents.defaults.turn_token_budget"), "{}", ending.answer);
    assert_eq!((ending.rounds, ending.usage.input), (2, 1200));
}

#[test]
fn an_answer_is_given_even_if_it_spent_the_last_token() {
    let fixture =
        Fixture::with(vec![costing(say("here"), 5000)], |config| config.turns.turn_token_budget = 1000);
    assert_eq!(fixture.turn("go").unwrap().answer, "here");
}

#[test]
fn tokens_are_estimated_where_no_provider_tells() {
    let fixture = Fixture::with(vec![call(&[("list_dir", "{}")]), say("no")], |config| {
        config.turns.turn_token_budget = 10
    });
    assert!(fixture.turn("go").unwrap().answer.contains("turn_token_budget"));
}

#[test]
fn an_agent_that_has_used_its_day_is_not_asked_again_in_any_session_or_process() {
    let fixture =
        Fixture::with(vec![costing(say("one"), 900), costing(say("two"), 200), say("no")], |config| {
            config.agents[0].token_budget = 1000;
        });
    fixture.turn("first").unwrap();
    fixture.turn_as("main", "other", "second", &|_| {}).unwrap();
    for runner in
        [fixture.runner.clone(), crate::fixture::open(&fixture.home(), &fixture.config, &fixture.script)]
    {
        let turn = picoclaw_agent::run::Turn {
            subject: crate::fixture::subject("main", "third"),
            input: "third".to_owned(),
            model: None,
            events: &|_| {},
            steering: &fixture.steering,
            halt: &fixture.halt,
        };
        let why = crate::fixture::run(runner.turn(turn)).unwrap_err();
        assert!(matches!(&why, TurnError::Spent(text) if text.contains("`token_budget`")), "{why}");
    }
    assert_eq!(fixture.asked().len(), 2);
}

#[test]
fn a_history_that_leaves_no_room_is_compacted_before_the_model_is_asked() {
    let acts = (0..6).map(|_| say(&"x".repeat(800))).collect();
    let fixture = Fixture::with(acts, |config| {
        config.turns.max_tokens = 100;
        config.turns.context_window = 3600;
    });
    let dropped = Mutex::new(0);
    let hear = |event: Event| {
        if let Event::Compacted { dropped: count } = event {
            *dropped.lock().unwrap() += count;
        }
    };
    for turn in 0..6 {
        fixture.turn_as("main", "s", &format!("{turn} {}", "y".repeat(800)), &hear).unwrap();
    }
    let dropped = dropped.into_inner().unwrap();
    assert!(dropped > 0);
    let instructions = &fixture.asked().pop().unwrap().messages[0].content;
    assert!(instructions.contains("CONTEXT_SUMMARY: [Emergency compression dropped "), "{instructions}");
    assert_eq!(fixture.sent()[0].role, picoclaw_agent::message::Role::User, "whole turns went");
    assert!(fixture.sent().last().unwrap().content.starts_with("5 "), "the active one is there");
    assert_eq!(fixture.kept("s").len(), 12, "nothing is lost on disk");
}

#[test]
fn a_model_that_finds_the_conversation_too_long_is_asked_again_with_less() {
    let mut acts: Vec<Act> = (0..4).map(|_| say("fine")).collect();
    acts.extend([Act::Fail(ErrorClass::ContextOverflow, "too long"), say("now it fits")]);
    let fixture = Fixture::new(acts);
    for turn in 0..4 {
        fixture.turn(&turn.to_string()).unwrap();
    }
    assert_eq!(fixture.turn("last").unwrap().answer, "now it fits");
    let requests = fixture.asked();
    assert_eq!(requests[4].messages.len(), 1 + 8 + 1);
    assert_eq!(requests[5].messages.len(), 1 + 4 + 1, "the older half went");
    let next = Fixture::new(vec![]);
    drop(next);
    let history =
        fixture.runner.sessions().lock(&picoclaw_policy::AgentId::main(), "s").unwrap().take_history();
    assert_eq!(history.len(), 6, "and stays away");
}

#[test]
fn the_active_turn_is_never_dropped() {
    let fixture = Fixture::new(vec![Act::Fail(ErrorClass::ContextOverflow, "too long")]);
    let why = fixture.turn("long").unwrap_err();
    assert!(matches!(why, TurnError::TooLong), "{why}");
    assert!(why.to_string().contains("refusing to drop active turn messages"));
}
