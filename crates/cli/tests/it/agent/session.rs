//! A session at a terminal: it takes lines, stops turns, and gives the terminal back whichever way it ends.

use super::scripted;
use crate::run::pty::{Terminal, can_give_a_terminal};
use crate::run::{alive, marker};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};

fn open(instance: &TestInstance, variables: &[(&str, &str)]) -> Terminal {
    let mut command = instance.command(&["agent"]);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").envs(variables.iter().copied());
    Terminal::start(&command)
}

#[test]
fn a_session_ends_with_nought_and_leaves_the_terminal_as_it_was() {
    if !can_give_a_terminal() {
        return;
    }
    for (why, typed) in [("Ctrl-D", "\x04"), ("exit", "exit\r"), ("quit", "quit\r"), ("/exit", "/exit\r")] {
        let instance = TestInstance::new();
        let mut terminal = open(&instance, &[]);
        let before = terminal.first_settings.clone();
        terminal.until("main› ");
        terminal.type_in("half a line\x03");
        terminal.until("to leave: Ctrl-C again");
        terminal.until("main› ");
        terminal.type_in("expr 40 + 2\r");
        terminal.until("\n42");
        terminal.until("main› ");
        terminal.type_in(typed);
        wait_until(why, || terminal.settings() == before);
        assert_eq!(terminal.end().0, 0, "{why}");
    }
}

#[test]
fn a_signal_ends_a_session_and_the_terminal_is_given_back() {
    if !can_give_a_terminal() {
        return;
    }
    for signal in [Signal::TERM, Signal::HUP] {
        for busy in [false, true] {
            let instance = TestInstance::new();
            let mark = marker();
            let mut terminal = open(&instance, &[]);
            let before = terminal.first_settings.clone();
            terminal.until("main› ");
            if busy {
                terminal.type_in(&format!("sleep {mark}\r"));
                wait_until("the command runs", || alive(&format!("sleep\0{mark}")) > 0);
            }
            assert_ne!(terminal.settings(), before, "keys are read one by one");
            // The leader became the program: there is no process between.
            kill_process(Pid::from_child(&terminal.child), signal).unwrap();
            wait_until(&format!("the terminal is as it was, {signal:?}, busy: {busy}"), || {
                terminal.settings() == before
            });
            assert_ne!(terminal.end().0, 0, "{signal:?}");
            wait_until("nothing is left", || alive(&mark) == 0);
        }
    }
}

#[test]
fn an_interrupt_stops_the_turn_and_not_the_session() {
    if !can_give_a_terminal() {
        return;
    }
    for (why, stops) in [("the key", "\x03"), ("the word", "/stop\r")] {
        let instance = TestInstance::new();
        let mark = marker();
        let mut terminal = open(&instance, &[]);
        terminal.until("main› ");
        terminal.type_in(&format!("sleep {mark}\r"));
        wait_until("the command runs", || alive(&format!("sleep\0{mark}")) > 0);
        terminal.type_in(stops);
        terminal.until("stopped");
        terminal.until("main› ");
        wait_until("the command is gone", || alive(&mark) == 0);
        terminal.type_in("expr 70 + 7\r");
        terminal.until("\n77");
        terminal.until("main› ");
        terminal.type_in("\x04");
        assert_eq!(terminal.end().0, 0, "{why}");
    }
}

#[test]
fn nothing_that_others_wrote_moves_the_cursor_or_colours_a_line() {
    if !can_give_a_terminal() {
        return;
    }
    let replies = r#"{"tool_calls": [{"name": "exec", "arguments": {"command": "printf '\\033]0;title\\007\\033[2J\\302\\233\\342\\200\\256out'"}}]}
        {"content": "\u001b[31mred\u009b2J\u202eback\r\nend"}"#;
    let instance = scripted(replies, "");
    for (why, variables, escapes) in [
        ("a terminal without colours", &[("NO_COLOR", "1")][..], true),
        ("a terminal that cannot draw", &[("TERM", "dumb")], false),
    ] {
        let mut terminal = open(&instance, variables);
        terminal.until("main› ");
        terminal.type_in("go\r");
        terminal.until("end");
        terminal.until("main› ");
        terminal.type_in("\x04");
        let (code, shown) = terminal.end_with_all();
        assert_eq!(code, 0, "{why}");
        for sign in ["\u{1b}]0;", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\u{1b}[31m", "\u{7}"] {
            assert!(!shown.contains(sign), "{why}: {sign:?} in {shown:?}");
        }
        for word in ["\\u{1b}[31mred\\u{9b}2J\\u{202e}back", "\\u{1b}]0;title\\u{7}"] {
            assert!(shown.contains(word), "{why}: {word} in {shown:?}");
        }
        assert_eq!(shown.contains('\u{1b}'), escapes, "{why}: {shown:?}");
        assert!(
            !shown.contains("\u{1b}[3") && !shown.contains("\u{1b}[1;3"),
            "{why}: no colours in {shown:?}"
        );
    }
}

#[test]
fn what_was_typed_is_there_in_the_next_session() {
    if !can_give_a_terminal() {
        return;
    }
    let instance = TestInstance::new();
    for typed in ["expr 50 + 5\r", "\x1b[A\r"] {
        let mut terminal = open(&instance, &[]);
        terminal.until("main› ");
        terminal.type_in(typed);
        terminal.until("\n55");
        terminal.until("main› ");
        terminal.type_in("\x04");
        assert_eq!(terminal.end().0, 0);
    }
    let history = instance.home().join("state/history");
    let mode = std::os::unix::fs::PermissionsExt::mode(&history.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "\"expr 50 + 5\"\n");
}

#[test]
fn words_for_the_session_are_answered_by_the_session() {
    if !can_give_a_terminal() {
        return;
    }
    let instance = scripted("{\"content\": \"hello\"}", "");
    let mut terminal = open(&instance, &[]);
    for (typed, want) in [
        ("/help", "/check"),
        ("/hlep", "did you mean `/help`?"),
        ("/check sudo ls", "rule: privilege"),
        ("/check ls", "allow"),
        ("/tools", "read_file"),
        ("/agents", "* main"),
        ("/model", "the model is s"),
        ("/model none", "there is no model `none`"),
        ("/session", "the session is cli:default"),
        ("/stop", "No active task to stop."),
        ("/approvals", "is refused"),
        ("/history", "there are no messages"),
        ("say hello", "hello"),
        ("/history", "say hello"),
        ("/context", "2 messages"),
        ("/clear", "Chat history cleared!"),
        ("/history", "there are no messages"),
        ("/session other", "from now on the session is other"),
    ] {
        terminal.until("main› ");
        terminal.type_in(&format!("{typed}\r"));
        terminal.until(typed);
        terminal.until(want);
    }
    terminal.until("main› ");
    terminal.type_in("\x04");
    assert_eq!(terminal.end().0, 0);
    assert!(instance.records().is_empty(), "talk about the session is no effect");
}
