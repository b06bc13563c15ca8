//! Questions in the terminal: shown in full, answered by a clear yes alone, bound to what was shown.

use super::scripted;
use crate::run::pty::{Terminal, can_give_a_terminal};
use crate::test_instance::TestInstance;

const ASK: &str = r#", "tools": {"exec": {"on_block": "ask", "guard": "smart"}}"#;

/// A command that the guard would block, and that leaves a trace when it runs all the same.
const MARKS: &str =
    r#"{"tool_calls": [{"name": "exec", "arguments": {"command": "chmod 700 .; touch done"}}]}"#;

fn instance(replies: &str) -> Option<TestInstance> {
    can_give_a_terminal().then(|| scripted(replies, ASK))
}

fn open(instance: &TestInstance, arguments: &[&str]) -> Terminal {
    let mut command = instance.command(&[&["agent"], arguments].concat());
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    Terminal::start(&command)
}

fn outcomes(instance: &TestInstance) -> Vec<String> {
    let records = instance.records();
    let said = records.iter().filter_map(|record| record["outcome"].as_str());
    said.filter(|outcome| outcome.starts_with("answered")).map(str::to_owned).collect()
}

#[test]
fn only_a_clear_yes_is_a_yes() {
    for (why, typed, happened, outcome) in [
        ("once", "o\r", true, "answered once by terminal"),
        ("in full", "once\r", true, "answered once by terminal"),
        ("for the session", "s\r", true, "answered session by terminal"),
        ("for ever", "a\r", true, "answered always by terminal"),
        ("no, and why", "no, because it is late\r", false, "answered no by terminal"),
        ("enter alone", "\r", false, "answered no by terminal"),
        ("no", "n\r", false, "answered no by terminal"),
        ("something else", "ok then\r", false, "answered no by terminal"),
    ] {
        for arguments in [&["-m", "go"][..], &[]] {
            let Some(instance) = instance(&format!("{MARKS}\n{{\"content\": \"over\"}}")) else { return };
            let mut terminal = open(&instance, arguments);
            if arguments.is_empty() {
                terminal.until("main› ");
                terminal.type_in("go\r");
            }
            terminal.until("chmod 700 .; touch done");
            terminal.until("[N]o? ");
            terminal.type_in(typed);
            terminal.until("over");
            if arguments.is_empty() {
                terminal.until("main› ");
                terminal.type_in("\x04");
            }
            assert_eq!(terminal.end().0, 0, "{why}: somebody was asked, so the turn is answered");
            assert_eq!(instance.workspace().join("done").exists(), happened, "{why}, {arguments:?}");
            assert_eq!(outcomes(&instance), [outcome], "{why}, {arguments:?}");
            let kept = instance.home().join("state/sessions/main");
            let kept = std::fs::read_dir(kept).unwrap().flatten().map(|file| file.path());
            let told: String = kept.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
            assert_eq!(told.contains("it is late"), typed.contains("it is late"), "{why}: {told}");
        }
    }
}

#[test]
fn a_new_instance_asks_before_a_tree_of_the_workspace_is_deleted() {
    if !can_give_a_terminal() {
        return;
    }
    let instance = TestInstance::new();
    assert_eq!(instance.run(&["onboard"]).code, 0);
    if !std::fs::read_to_string(instance.home().join("config.json")).unwrap().contains("\"ask\"") {
        picoclaw_testing::skip!("nothing on this host holds commands");
    }
    for (answer, deleted) in [("n\r", false), ("o\r", true)] {
        let modules = instance.workspace().join("node_modules");
        std::fs::create_dir_all(&modules).unwrap();
        let mut terminal = open(&instance, &["-m", "rm -rf node_modules"]);
        terminal.until("[N]o? ");
        terminal.type_in(answer);
        assert_eq!(terminal.end().0, if deleted { 0 } else { 1 }, "{answer:?}");
        assert_eq!(!modules.exists(), deleted, "{answer:?}");
    }
}

#[test]
fn what_was_typed_before_the_question_answers_nothing() {
    let slow = r#"{"tool_calls": [{"name": "exec", "arguments": {"command": "sleep 1"}}, {"name": "exec", "arguments": {"command": "chmod 700 .; touch done"}}]}
        {"content": "over"}"#;
    for arguments in [&["-m", "go"][..], &[]] {
        let Some(instance) = instance(slow) else { return };
        let mut terminal = open(&instance, arguments);
        if arguments.is_empty() {
            terminal.until("main› ");
            terminal.type_in("go\r");
            // The moving line shows that the first call runs.
            terminal.until("sleep 1");
        }
        terminal.type_in("o");
        terminal.until("[N]o? ");
        terminal.type_in("\r");
        terminal.until("over");
        if arguments.is_empty() {
            terminal.until("main› ");
            terminal.type_in("\x15\x04");
        }
        terminal.end();
        assert!(!instance.workspace().join("done").exists(), "{arguments:?}");
        assert_eq!(outcomes(&instance), ["answered no by terminal"], "{arguments:?}");
    }
}

#[test]
fn an_answer_for_the_session_holds_for_that_content_alone() {
    let call = |command: &str| {
        format!(r#"{{"tool_calls": [{{"name": "exec", "arguments": {{"command": "{command}"}}}}]}}"#)
    };
    let replies =
        [call("chmod 700 ."), call("chmod 700 ."), call("chmod 700  ."), r#"{"content": "over"}"#.to_owned()];
    let Some(instance) = instance(&replies.join("\n")) else { return };
    let mut terminal = open(&instance, &["-m", "go"]);
    terminal.until("[N]o? ");
    terminal.type_in("s\r");
    // The same again is not asked; one more blank is.
    terminal.until("chmod 700  .");
    terminal.until("[N]o? ");
    terminal.type_in("\r");
    terminal.until("over");
    terminal.end();
    let outcomes = outcomes(&instance);
    assert_eq!(
        outcomes,
        [
            "answered session by terminal",
            "answered session by an earlier answer in this session",
            "answered no by terminal"
        ]
    );
}

#[test]
fn the_content_is_shown_to_its_end_and_moves_nothing() {
    let long = "x".repeat(9000);
    let replies = format!(
        r#"{{"tool_calls": [{{"name": "exec", "arguments": {{"command": "chmod 700 . # \u001b[2K\u001b[1A harmless \u202e {long} END"}}}}]}}
           {{"content": "over"}}"#
    );
    for arguments in [&["-m", "go"][..], &[]] {
        let Some(instance) = instance(&replies) else { return };
        let mut terminal = open(&instance, arguments);
        if arguments.is_empty() {
            terminal.until("main› ");
            terminal.type_in("go\r");
        }
        terminal.until("asks for your permission");
        terminal.until("\\u{1b}[2K\\u{1b}[1A harmless \\u{202e} ");
        terminal.until(&format!("{long} END"));
        if arguments.is_empty() {
            // A screen is 33 lines high: the rest is shown on request, and nothing can be allowed before.
            terminal.until("more lines: Enter shows them");
            terminal.type_in("\r");
        }
        terminal.until("[N]o? ");
        terminal.type_in("\r");
        terminal.until("over");
        if arguments.is_empty() {
            terminal.until("main› ");
            terminal.type_in("\x04");
        }
        assert_eq!(terminal.end().0, 0, "{arguments:?}");
    }
}

#[test]
fn a_yes_before_the_end_of_the_content_is_a_no() {
    let lines = "\\n".to_owned() + &(0..80).map(|number| format!("echo {number}\\n")).collect::<String>();
    let replies = format!(
        r#"{{"tool_calls": [{{"name": "exec", "arguments": {{"command": "chmod 700 .{lines}touch done"}}}}]}}
           {{"content": "over"}}"#
    );
    let Some(instance) = instance(&replies) else { return };
    let mut terminal = open(&instance, &[]);
    terminal.until("main› ");
    terminal.type_in("go\r");
    terminal.until("more lines: Enter shows them");
    terminal.type_in("o\r");
    terminal.until("over");
    terminal.until("main› ");
    terminal.type_in("\x04");
    terminal.end();
    assert!(!instance.workspace().join("done").exists());
    assert_eq!(outcomes(&instance), ["answered no by terminal"]);
}

#[test]
fn with_nobody_at_the_terminal_it_is_refused_and_the_code_says_so() {
    let instance = scripted(&format!("{MARKS}\n{{\"content\": \"over\"}}"), ASK);
    let ran = instance.run(&["agent", "-m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "over\n"), "{ran:?}");
    assert!(!instance.workspace().join("done").exists());
}
