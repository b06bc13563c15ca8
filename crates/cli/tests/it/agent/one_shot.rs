//! One turn between programs: the answer alone on standard output, and a code that says how it went.

use super::{fed, lines, scripted};
use crate::run::{alive, marker};
use crate::test_instance::{TestInstance, ran};
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;

const BLOCKED: &str = "Command blocked by safety guard (dangerous pattern detected)";

#[test]
fn without_a_model_a_line_is_a_command_and_a_tools_name_is_that_tool() {
    let instance = TestInstance::with_config("{}");
    for (why, message, code, answer) in [
        ("a line is a command", "echo hi", 0, "hi\n"),
        ("several lines as well", "echo a\necho b", 0, "a\nb\n"),
        ("a tool by name", r#"write_file {"path": "a.txt", "content": "one"}"#, 0, "File written: a.txt\n"),
        ("a tool without arguments", "list_dir", 0, "FILE: a.txt\n"),
        ("a file ends as an answer ends", r#"read_file {"path": "a.txt"}"#, 0, "one\n"),
        ("nothing to say is an empty answer", "true", 0, "(no output)\n"),
    ] {
        let ran = instance.run(&["agent", "-m", message]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, answer), "{why}: {ran:?}");
    }
    let refused = instance.run(&["agent", "-m", "sudo ls"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.starts_with(BLOCKED), "{refused:?}");
    let failed = instance.run(&["agent", "-m", "exit 7"]);
    assert_eq!(failed.code, 1, "the command's failure is the turn's: {failed:?}");
}

#[test]
fn the_answer_alone_is_on_standard_output() {
    let replies = r#"
        // Words beside a call are not the answer.
        {"content": "Let me see.", "tool_calls": [{"name": "exec", "arguments": {"command": "echo noise"}}]}
        {"content": "The answer.\nIn two lines."}
    "#;
    let ran = scripted(replies, "").run(&["agent", "-m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "The answer.\nIn two lines.\n"), "{ran:?}");
    assert_eq!(ran.stderr, "", "nobody watches, so nothing is traced");
}

#[test]
fn the_message_may_come_from_standard_input() {
    let instance = TestInstance::new();
    for (why, arguments, input, code, want) in [
        ("asked for", &["agent", "-m", "-"][..], &b"echo one\n"[..], 0, "one\n"),
        ("nobody types", &["agent"], b"echo two", 0, "two\n"),
        ("nothing was said", &["agent"], b"", 2, ""),
        ("nothing but blanks", &["agent", "-m", "-"], b" \n\t\n", 2, ""),
        ("not text", &["agent"], b"echo \xff\xfe", 2, ""),
    ] {
        let ran = fed(&instance, arguments, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, want), "{why}: {ran:?}");
    }
    let large = fed(&instance, &["agent", "-m", "-"], &vec![b'x'; (4 << 20) + 1]);
    assert_eq!(large.code, 2, "{}", large.stderr);
    assert!(large.stderr.contains("longer than"), "{}", large.stderr);
}

#[test]
fn the_exit_code_says_how_it_went() {
    let refused = r#"{"tool_calls": [{"name": "read_file", "arguments": {"path": "/etc/passwd"}}]}
        {"content": "I may not."}"#;
    let asked = r#"{"tool_calls": [{"name": "exec", "arguments": {"command": "git push"}}]}
        {"content": "Nobody was there."}"#;
    let ask = r#", "tools": {"exec": {"on_block": "ask"}}"#;
    for (why, replies, more, arguments, code, stdout) in [
        ("a model that deals with a refusal has answered", refused, "", &["-m", "x"][..], 0, "I may not.\n"),
        ("somebody had to be asked", asked, ask, &["-m", "x"], 3, "Nobody was there.\n"),
        ("the model fails", "", "", &["-m", "x"], 1, ""),
        ("an empty message", refused, "", &["-m", ""], 2, ""),
        ("an unknown agent", refused, "", &["-m", "x", "--agent", "nobody"], 2, ""),
        ("an unknown model", refused, "", &["-m", "x", "--model", "none"], 2, ""),
        ("a session without a name", refused, "", &["-m", "x", "-s", ""], 2, ""),
        ("an unknown option", refused, "", &["-m", "x", "--yes"], 2, ""),
    ] {
        let instance = scripted(replies, more);
        let ran = instance.run(&[&["agent"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{why}: {ran:?}");
        if code == 2 || code == 1 {
            assert!(ran.stderr.contains("error:"), "{why}: {ran:?}");
        }
    }
}

#[test]
fn json_tells_every_call_and_ends_with_the_answer_or_the_error() {
    let replies = r#"{"tool_calls": [{"name": "exec", "id": "c1", "arguments": {"command": "printf '\\033[31mhi'"}}, {"name": "read_file", "id": "c2", "arguments": {"path": "/etc/passwd"}}]}
        {"content": "done"}"#;
    let instance = scripted(replies, "");
    let ran = instance.run(&["agent", "--json", "-m", "x"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "no line acts on a terminal: {}", ran.stdout);
    let told = lines(&ran.stdout);
    let types: Vec<_> = told.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["tool_call", "tool_result", "tool_call", "tool_result", "answer"]);
    assert_eq!((&told[0]["id"], &told[0]["tool"]), (&"c1".into(), &"exec".into()));
    assert_eq!((&told[1]["ok"], &told[3]["ok"]), (&true.into(), &false.into()));
    assert!(told[1]["duration_ms"].is_u64(), "{}", told[1]);
    assert_eq!(told[3]["refusal"]["code"], "outside_workspace");
    assert_eq!(told[3]["refusal"]["layer"], "policy");
    assert_eq!((&told[4]["text"], &told[4]["model"]), (&"done".into(), &"s".into()));
    for (why, arguments, code) in [
        ("the script is over", &["agent", "--json", "-m", "x"][..], 1),
        ("no such agent", &["agent", "--json", "-m", "x", "--agent", "nobody"], 2),
        ("nothing to do", &["agent", "--json", "-m", " "], 2),
    ] {
        std::fs::write(instance.dir().join("replies.jsonl"), "").unwrap();
        let ran = instance.run(arguments);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert_eq!(lines(&ran.stdout).last().unwrap()["type"], "error", "{why}: {ran:?}");
    }
}

#[test]
fn a_session_is_the_one_that_was_named_and_an_agent_has_its_own() {
    let replies = r#"{"content": "first"}
        {"content": "second"}
        {"content": "third"}"#;
    let instance = scripted(replies, "");
    // A script is read from its beginning by each program.
    for (session, agent) in [("a:1", "main"), ("A:1", "main"), ("a:1", "other")] {
        let ran = instance.run(&["agent", "-m", "hello", "-s", session, "--agent", agent]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let mut files = Vec::new();
    for agent in ["main", "other"] {
        let dir = instance.home().join("state/sessions").join(agent);
        let names =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.push(names.filter(|name| name.ends_with(".jsonl")).count());
    }
    assert_eq!(files, [2, 1]);
}

#[test]
fn an_interrupt_ends_the_turn_and_everything_it_started() {
    let instance = TestInstance::new();
    let mark = marker();
    let mut command = instance.command(&["agent", "-m", &format!("sleep {mark}")]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // The line itself, the supervisor's and the shell's: more than our own process has it.
    wait_until("the command runs", || alive(&format!("sleep\0{mark}")) > 0);
    kill_process(pid, Signal::INT).unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{ran:?}");
    wait_until("nothing is left", || alive(&mark) == 0);
    let records = instance.records();
    assert_eq!(records.last().unwrap()["phase"], "finished", "the end of the command is on record");
}
