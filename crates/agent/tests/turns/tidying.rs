//! Summaries of what was said long ago.

use crate::fixture::{Act, Fixture, call, run, say, subject};
use picoclaw_agent::providers::{ErrorClass, ProviderKind};
use picoclaw_agent::run::{Summarized, SummaryReason};

/// Twelve turns, and then these.
fn fixture(after: Vec<Act>) -> Fixture {
    let mut acts: Vec<Act> = (0..12).map(|turn| say(&format!("answer {turn}"))).collect();
    acts.extend(after);
    let fixture = Fixture::new(acts);
    for turn in 0..12 {
        fixture.turn(&format!("question {turn}")).unwrap();
    }
    fixture
}

fn tidy(fixture: &Fixture) -> Summarized {
    run(fixture.runner.summarize(&subject("main", "s"), None, SummaryReason::Length, &fixture.halt)).unwrap()
}

#[test]
fn a_long_session_is_summarised_and_its_newest_turns_stay() {
    let fixture = fixture(vec![say("first half"), say("it was about questions"), say("yes")]);
    assert_eq!(tidy(&fixture), Summarized::Messages(20));
    let asked = fixture.asked();
    let summing = &asked[12];
    assert_eq!((summing.temperature, summing.tools.len(), summing.messages.len()), (Some(0.3), 0, 1));
    assert!(summing.messages[0].content.contains("user: question 0"), "{}", summing.messages[0].content);
    assert!(asked[13].messages[0].content.contains("first half"), "the second half builds on the first");
    fixture.turn("next").unwrap();
    let last = fixture.asked().pop().unwrap();
    assert!(last.messages[0].content.ends_with("CONTEXT_SUMMARY: it was about questions"));
    assert_eq!(last.messages[1].content, "question 10", "cut where a turn begins");
    assert_eq!(last.messages.len(), 1 + 4 + 1);
    assert_eq!(fixture.kept("s").len(), 26, "nothing is lost on disk");
    assert_eq!(tidy(&fixture), Summarized::Nothing, "and not again so soon");
}

#[test]
fn without_a_model_that_answers_the_summary_is_crude() {
    let fail = || Act::Fail(ErrorClass::Network, "gone");
    let fixture = fixture((0..6).map(|_| fail()).collect());
    assert_eq!(tidy(&fixture), Summarized::Messages(20));
    let summary = fixture.runner.sessions().read(&subject("main", "s").agent, "s").unwrap().summary;
    assert!(summary.contains("user: question 0") && summary.contains("assistant: answer 9"), "{summary}");
}

#[test]
fn a_short_session_and_one_long_turn_are_left_alone() {
    let fixture = Fixture::new(vec![say("one")]);
    fixture.turn("first").unwrap();
    assert_eq!(tidy(&fixture), Summarized::Nothing);
    let mut acts: Vec<Act> = (0..15).map(|_| call(&[("list_dir", "{}")])).collect();
    acts.push(say("done"));
    let fixture = Fixture::new(acts);
    fixture.turn("one long turn").unwrap();
    assert!(fixture.kept("s").len() > 20);
    assert_eq!(tidy(&fixture), Summarized::Nothing, "the newest turn stays whole");
}

#[test]
fn where_there_is_no_model_nothing_is_asked() {
    let mut acts: Vec<Act> = (0..12).map(|_| say("x")).collect();
    acts.push(say("never asked"));
    let fixture = Fixture::build(acts, ProviderKind::Direct, |_| {});
    for _ in 0..12 {
        fixture.turn("ls").unwrap();
    }
    assert_eq!(tidy(&fixture), Summarized::Nothing);
    assert_eq!(fixture.asked().len(), 12);
}

#[test]
fn a_summary_comes_too_late_for_a_session_that_was_cleared() {
    let fixture = fixture(vec![say("first half"), say("late")]);
    let sessions = fixture.runner.sessions().clone();
    let fixture = fixture.before(move |round| {
        if round == 14 {
            sessions.clear(&subject("main", "s").agent, "s").unwrap();
        }
    });
    assert_eq!(tidy(&fixture), Summarized::Nothing);
}
