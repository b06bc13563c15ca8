//! Steering, interrupts, stops and questions.

use crate::house::{Act, House, call, run, say, subject};
use picoclaw_agent::run::{Event, Steering, Turn, TurnError};
use picoclaw_policy::config::OnBlock;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::Approval;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn words_said_meanwhile_skip_the_rest_of_a_batch() {
    let steering = Arc::new(Steering::new());
    let two = call(&[("list_dir", "{}"), ("exec", r#"{"command": "touch late"}"#)]);
    let mut house = House::new(vec![two, say("as you wish")]);
    house.steering = Arc::clone(&steering);
    let hear = |event: Event| {
        if let Event::ToolResult { .. } = event {
            steering.say("stop that").unwrap();
        }
    };
    house.turn_as("main", "s", "go", &hear).unwrap();
    let sent = house.sent();
    assert_eq!(sent[3].content, "Skipped due to queued user message.");
    assert_eq!(sent[4].content, "stop that");
    assert!(!house.workspace().join("late").exists());
    assert_eq!(house.records().len(), 2, "a call that was not made is not recorded");
}

#[test]
fn words_said_before_the_last_answer_are_answered_too() {
    let steering = Arc::new(Steering::new());
    let theirs = Arc::clone(&steering);
    let mut house = House::new(vec![say("one"), say("two"), say("three")]).before(move |round| {
        if round == 1 {
            theirs.say("and a").unwrap();
            theirs.say("and b").unwrap();
        }
    });
    house.steering = steering;
    assert_eq!(house.turn("go").unwrap().answer, "three");
    assert_eq!(
        house.kept("s"),
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
    let mut house = House::new(vec![two, call(&[("list_dir", "{}")])]).before(move |round| {
        if round == 1 {
            theirs.interrupt();
        }
    });
    house.steering = steering;
    let ending = house.turn("go").unwrap();
    let last = house.asked().pop().unwrap();
    assert!(last.tools.is_empty(), "tools are withheld");
    assert_eq!(last.messages[3].content, "Skipped due to graceful interrupt.");
    assert!(last.messages.last().unwrap().content.starts_with("Interrupt requested. Stop scheduling tools"));
    assert!(ending.answer.starts_with("The model returned an empty response"), "its calls are not run");
    assert!(house.records().is_empty());
}

#[test]
fn a_stop_while_the_model_thinks_takes_the_turn_back() {
    let house = House::new(vec![say("kept"), call(&[("list_dir", "{}")]), Act::Hang]);
    house.turn("before").unwrap();
    let halt = house.halt.clone();
    let house = house.before(move |round| {
        if round == 3 {
            halt.cancel();
        }
    });
    let began = Instant::now();
    assert!(matches!(house.turn("stopped"), Err(TurnError::Halted)));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(house.kept("s"), ["user: before", "assistant: kept"]);
}

#[test]
fn a_stop_while_a_command_runs_ends_the_command_and_takes_the_turn_back() {
    let house = House::new(vec![call(&[("exec", r#"{"command": "echo started; sleep 300; touch late"}"#)])]);
    let halt = house.halt.clone();
    let hear = move |event: Event| {
        if let Event::ToolOutput { .. } = event {
            halt.cancel();
        }
    };
    let began = Instant::now();
    assert!(matches!(house.turn_as("main", "s", "go", &hear), Err(TurnError::Halted)));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(house.kept("s"), Vec::<String>::new());
    assert!(!house.home().join("state/sessions/main/s.jsonl").exists(), "the session never began");
    let records = house.records();
    assert_eq!(records.last().unwrap()["phase"], "finished", "the command's end is recorded: {records:?}");
}

#[test]
fn a_turn_that_nobody_waits_for_is_taken_back() {
    let house = House::new(vec![say("kept"), Act::Hang]);
    house.turn("before").unwrap();
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
            _ = house.runner.turn(turn) => false,
            () = tokio::time::sleep(Duration::from_millis(300)) => true,
        }
    });
    assert!(gone);
    assert_eq!(house.kept("s"), ["user: before", "assistant: kept"]);
}

#[test]
fn a_question_goes_out_and_what_comes_back_decides() {
    for (why, answer, ran, unasked) in [
        ("yes", Some(Approval::Once), true, false),
        ("no", Some(Approval::No), false, false),
        ("nobody is there", None, false, true),
    ] {
        let acts = vec![call(&[("exec", r#"{"command": "rm -rf gone"}"#)]), say("ok")];
        let house = House::with(acts, |config| config.tools.exec.on_block = OnBlock::Ask);
        std::fs::create_dir(house.workspace().join("gone")).unwrap();
        let shown = Mutex::new(String::new());
        let hear = |event: Event| {
            if let Event::Ask(ask) = event {
                shown.lock().unwrap().push_str(&ask.question.text);
                if let Some(answer) = answer {
                    ask.answer.send((answer, "a test".to_owned())).unwrap();
                }
            }
        };
        let ending = house.turn_as("main", "s", "go", &hear).unwrap();
        assert_eq!(*shown.lock().unwrap(), "rm -rf gone", "{why}");
        assert_eq!(house.workspace().join("gone").exists(), !ran, "{why}");
        assert_eq!(ending.needs_approval, unasked, "{why}");
    }
}
