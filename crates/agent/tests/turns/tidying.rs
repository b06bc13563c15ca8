//! Summaries of what was said long ago.

use crate::house::{Act, House, call, run, say, subject};
use picoclaw_agent::providers::{ErrorClass, ProviderKind};
use picoclaw_agent::run::Summarized;

/// Twelve turns, and then these.
fn house(after: Vec<Act>) -> House {
    let mut acts: Vec<Act> = (0..12).map(|turn| say(&format!("answer {turn}"))).collect();
    acts.extend(after);
    let house = House::new(acts);
    for turn in 0..12 {
        house.turn(&format!("question {turn}")).unwrap();
    }
    house
}

fn tidy(house: &House) -> Summarized {
    run(house.runner.summarize(&subject("main", "s"), None, &house.halt)).unwrap()
}

#[test]
fn a_long_session_is_summarised_and_its_newest_turns_stay() {
    let house = house(vec![say("first half"), say("it was about questions"), say("yes")]);
    assert_eq!(tidy(&house), Summarized::Messages(20));
    let asked = house.asked();
    let summing = &asked[12];
    assert_eq!((summing.temperature, summing.tools.len(), summing.messages.len()), (Some(0.3), 0, 1));
    assert!(summing.messages[0].content.contains("user: question 0"), "{}", summing.messages[0].content);
    assert!(asked[13].messages[0].content.contains("first half"), "the second half builds on the first");
    house.turn("next").unwrap();
    let last = house.asked().pop().unwrap();
    assert!(last.messages[0].content.ends_with("CONTEXT_SUMMARY: it was about questions"));
    assert_eq!(last.messages[1].content, "question 10", "cut where a turn begins");
    assert_eq!(last.messages.len(), 1 + 4 + 1);
    assert_eq!(house.kept("s").len(), 26, "nothing is lost on disk");
    assert_eq!(tidy(&house), Summarized::Nothing, "and not again so soon");
}

#[test]
fn without_a_model_that_answers_the_summary_is_crude() {
    let fail = || Act::Fail(ErrorClass::Network, "gone");
    let house = house((0..6).map(|_| fail()).collect());
    assert_eq!(tidy(&house), Summarized::Messages(20));
    let summary = house.runner.sessions().read(&subject("main", "s").agent, "s").unwrap().summary;
    assert!(summary.contains("user: question 0") && summary.contains("assistant: answer 9"), "{summary}");
}

#[test]
fn a_short_session_and_one_long_turn_are_left_alone() {
    let house = House::new(vec![say("one")]);
    house.turn("first").unwrap();
    assert_eq!(tidy(&house), Summarized::Nothing);
    let mut acts: Vec<Act> = (0..15).map(|_| call(&[("list_dir", "{}")])).collect();
    acts.push(say("done"));
    let house = House::new(acts);
    house.turn("one long turn").unwrap();
    assert!(house.kept("s").len() > 20);
    assert_eq!(tidy(&house), Summarized::Nothing, "the newest turn stays whole");
}

#[test]
fn where_there_is_no_model_nothing_is_asked() {
    let mut acts: Vec<Act> = (0..12).map(|_| say("x")).collect();
    acts.push(say("never asked"));
    let house = House::build(acts, ProviderKind::Direct, |_| {});
    for _ in 0..12 {
        house.turn("ls").unwrap();
    }
    assert_eq!(tidy(&house), Summarized::Nothing);
    assert_eq!(house.asked().len(), 12);
}

#[test]
fn a_summary_comes_too_late_for_a_session_that_was_cleared() {
    let house = house(vec![say("first half"), say("late")]);
    let sessions = house.runner.sessions().clone();
    let house = house.before(move |round| {
        if round == 14 {
            sessions.clear(&subject("main", "s").agent, "s").unwrap();
        }
    });
    assert_eq!(tidy(&house), Summarized::Nothing);
}
