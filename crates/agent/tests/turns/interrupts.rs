//! Steering, interrupts, stops and questions.

use crate::fixture::{Act, Fixture, call, run, say, subject};
use picoclaw_agent::run::{Event, Steering, Turn, TurnError};
use picoclaw_policy::config::OnBlock;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Answer, Approval};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn words_said_meanwhile_skip_the_rest_of_a_batch() {
    let steering = Arc::new(Steering::new());
    let two = call(&[("list_dir", "{}"), ("exec", r#"{"command": "touch late"}"#)]);
    let mut fixture = Fixture::new(vec![two, say("as you wish")]);
    fixture.steering = Arc::clone(&steering);
    let hear = |event: Event| {
        if let Event::ToolResult { .. } = event {
            steering.say("stop that").unwrap();
        }
    };
    fixture.turn_as("main", "s", "go", &hear).unwrap();
    let sent = fixture.sent();
    assert_eq!(sent[3].content, "Skipped due to queued user message.");
    assert_eq!(sent[4].content, "stop that");
    assert!(!fixture.workspace().join("late").exists());
    assert_eq!(fixture.records().len(), 2, "a call that was not made is not recorded");
}

#[test]
fn words_said_before_the_last_answer_are_answered_too() {
    let steering = Arc::new(Steering::new());
    let theirs = Arc::clone(&steering);
    let mut fixture = Fixture::new(vec![say("one"), say("two"), say("three")]).before(move |round| {
        if round == 1 {
            theirs.say("and a").unwrap();
            theirs.say("and b").unwrap();
        }
    });
    fixture.steering = steering;
    assert_eq!(fixture.turn("go").unwrap().answer, "three");
    assert_eq!(
        fixture.kept("s"),
        ["user: go", "assistant: one", "user: and a", "assistant: two", "user: and b", "assistant: three"]
    );
}

#[test]
fn ten_messages_wait_and_no_more() {
    let steering = Steering::new();
    for text in 0..10 {
        steering.say(text.to_string()).unwrap();
    }
    assert!(steering.say("eleventh").is_err());
    assert_eq!(steering.take().as_deref(), Some("0"), "the oldest comes first");
    steering.say("now there is room").unwrap();
}

#[test]
fn an_interrupted_turn_sums_up_without_tools() {
    let steering = Arc::new(Steering::new());
    let theirs = Arc::clone(&steering);
    let two = call(&[("list_dir", "{}"), ("list_dir", "{}")]);
    let mut fixture = Fixture::new(vec![two, call(&[("list_dir", "{}")])]).before(move |round| {
        if round == 1 {
            theirs.interrupt();
        }
    });
    fixture.steering = steering;
    let ending = fixture.turn("go").unwrap();
    let last = fixture.asked().pop().unwrap();
    assert!(last.tools.is_empty(), "tools are withheld");
    assert_eq!(last.messages[3].content, "Skipped due to graceful interrupt.");
    assert!(last.messages.last().unwrap().content.starts_with("Interrupt requested. Stop scheduling tools"));
    assert!(ending.answer.starts_with("The model returned an empty response"), "its calls are not run");
    assert!(fixture.records().is_empty());
}

#[test]
fn a_stop_while_the_model_thinks_takes_the_turn_back() {
    let fixture = Fixture::new(vec![say("kept"), call(&[("list_dir", "{}")]), Act::Hang]);
    fixture.turn("before").unwrap();
    let halt = fixture.halt.clone();
    let fixture = fixture.before(move |round| {
        if round == 3 {
            halt.cancel();
        }
    });
    let began = Instant::now();
    assert!(matches!(fixture.turn("stopped"), Err(TurnError::Halted)));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(fixture.kept("s"), ["user: before", "assistant: kept"]);
}

#[test]
fn a_stop_while_a_command_runs_ends_the_command_and_takes_the_turn_back() {
    let fixture =
        Fixture::new(vec![call(&[("exec", r#"{"command": "echo started; sleep 300; touch late"}"#)])]);
    let halt = fixture.halt.clone();
    let hear = move |event: Event| {
        if let Event::ToolOutput { .. } = event {
            halt.cancel();
        }
    };
    let began = Instant::now();
    assert!(matches!(fixture.turn_as("main", "s", "go", &hear), Err(TurnError::Halted)));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(fixture.kept("s"), Vec::<String>::new());
    assert!(!fixture.home().join("state/sessions/main/s.jsonl").exists(), "the session never began");
    let records = fixture.records();
    assert_eq!(records.last().unwrap()["phase"], "finished", "the command's end is recorded: {records:?}");
}

#[test]
fn a_turn_that_nobody_waits_for_is_taken_back() {
    let fixture = Fixture::new(vec![say("kept"), Act::Hang]);
    fixture.turn("before").unwrap();
    let turn = Turn {
        subject: subject("main", "s"),
        input: "dropped".to_owned(),
        model: None,
        events: &|_| {},
        steering: &Steering::new(),
        halt: &CancelToken::new(),
    };
    let gone = run(async {
        tokio::select! {
            _ = fixture.runner.turn(turn) => false,
            () = tokio::time::sleep(Duration::from_millis(300)) => true,
        }
    });
    assert!(gone);
    assert_eq!(fixture.kept("s"), ["user: before", "assistant: kept"]);
}

#[test]
fn a_question_goes_out_and_what_comes_back_decides() {
    for (why, answer, ran, unasked) in [
        ("yes", Some(Approval::Once), true, false),
        ("no", Some(Approval::No), false, false),
        ("nobody is there", None, false, true),
    ] {
        let acts = vec![call(&[("exec", r#"{"command": "rm -rf gone"}"#)]), say("ok")];
        let fixture = Fixture::with(acts, |config| config.tools.exec.on_block = OnBlock::Ask);
        std::fs::create_dir(fixture.workspace().join("gone")).unwrap();
        let shown = Mutex::new(String::new());
        let hear = |event: Event| {
            if let Event::Ask(ask) = event {
                shown.lock().unwrap().push_str(&ask.question.text);
                if let Some(answer) = answer {
                    ask.answer.send(Answer::new(answer, "a test")).unwrap();
                }
            }
        };
        let ending = fixture.turn_as("main", "s", "go", &hear).unwrap();
        assert_eq!(*shown.lock().unwrap(), "rm -rf gone", "{why}");
        assert_eq!(fixture.workspace().join("gone").exists(), !ran, "{why}");
        assert_eq!(ending.needs_approval, unasked, "{why}");
    }
}
