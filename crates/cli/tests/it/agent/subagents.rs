//! Subagents from the outside: what a one-shot turn prints, what a session shows, and what a stop leaves.

use super::{lines, scripted};
use crate::run::pty::{Terminal, can_give_a_terminal};
use crate::run::{alive, marker};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::process::Stdio;

/// Two models: the agent's own, and the one of its subagents.
fn staffed(chief: &str, helper: &str, more: &str) -> TestInstance {
    let instance = TestInstance::with_config(&format!(
        r#"{{"version": 3,
            "agents": {{"agents": [{{"id": "main", "subagents": {{"model": "helper"}}}}], "defaults": {{"model_name": "chief", "max_llm_retries": 0}}}},
            "model_list": [
              {{"model_name": "chief", "model": "scripted/chief", "api_base": "file://{{dir}}/chief.jsonl"}},
              {{"model_name": "helper", "model": "scripted/helper", "api_base": "file://{{dir}}/helper.jsonl"}}]{more}}}"#
    ));
    fs::write(instance.dir().join("chief.jsonl"), chief).unwrap();
    fs::write(instance.dir().join("helper.jsonl"), helper).unwrap();
    instance
}

fn calls(tool: &str, arguments: serde_json::Value) -> String {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
}

#[test]
fn a_one_shot_turn_waits_for_what_it_spawned() {
    let chief = [
        calls("spawn", json!({"task": "look", "label": "L"})),
        json!({"content": "it is under way"}).to_string(),
        json!({"content": "it is seven"}).to_string(),
    ];
    let helper = r#"{"content": "seven", "delay_ms": 300}"#;
    let instance = staffed(&chief.join("\n"), helper, "");
    let ran = instance.run(&["agent", "-m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "it is seven\n"), "{ran:?}");
    let said = instance.run(&["session", "show", "cli:default"]).stdout;
    for text in
        ["Spawned subagent 'L' for task: look", "it is under way", "[SubTurn Result] seven", "it is seven"]
    {
        assert!(said.contains(text), "{text}: {said}");
    }
    let sessions = instance.run(&["session", "list", "--json"]).stdout;
    assert_eq!(sessions.matches("\"name\"").count(), 1, "{sessions}");
}

#[test]
fn lines_of_json_say_whose_call_it_is() {
    let chief =
        [calls("subagent", json!({"task": "look", "label": "L"})), json!({"content": "end"}).to_string()];
    let helper = [calls("list_dir", json!({"path": "."})), json!({"content": "seen"}).to_string()];
    let instance = staffed(&chief.join("\n"), &helper.join("\n"), "");
    let ran = instance.run(&["agent", "--json", "-m", "go"]);
    let told: Vec<_> = lines(&ran.stdout)
        .iter()
        .map(|line| format!("{} {} {} {}", line["type"], line["tool"], line["subagent"], line["depth"]))
        .collect();
    assert_eq!(
        told,
        [
            r#""tool_call" "subagent" null null"#,
            r#""tool_call" "list_dir" "subagent-1" 1"#,
            r#""tool_result" "list_dir" "subagent-1" 1"#,
            r#""tool_result" "subagent" null null"#,
            r#""answer" null null null"#,
        ],
        "{ran:?}"
    );
}

#[test]
fn a_subagents_question_that_nobody_can_be_asked_is_exit_code_3() {
    let chief = [calls("subagent", json!({"task": "look"})), json!({"content": "end"}).to_string()];
    let helper = [calls("exec", json!({"command": "sudo ls"})), json!({"content": "no"}).to_string()];
    let ask = r#", "tools": {"exec": {"on_block": "ask"}}"#;
    let instance = staffed(&chief.join("\n"), &helper.join("\n"), ask);
    let ran = instance.run(&["agent", "-m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "end\n"), "{ran:?}");
}

#[test]
fn without_a_model_a_task_is_a_line_and_a_result_is_never_one() {
    let instance = TestInstance::with_config("{}");
    let ran = instance.run(&["agent", "-m", r#"subagent {"task": "echo four"}"#]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "four\n"), "{ran:?}");
    // What a subagent brings back looks like a command here, and must not become one.
    let ran = instance.run(&["agent", "-m", r#"spawn {"task": "echo touch made"}"#]);
    let want =
        "Spawned subagent for task: echo touch made\n[SubTurn Result] touch made\n(subagent subagent-1)\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, want), "{ran:?}");
    assert!(!instance.workspace().join("made").exists());
    let ran = instance.run(&["agent", "-m", r#"subagent {"task": "sudo ls"}"#]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.starts_with("Command blocked by safety guard (dangerous pattern detected)"),
        "{ran:?}"
    );
}

#[test]
fn a_stopped_program_leaves_nothing_of_its_subagents() {
    for tool in ["subagent", "spawn"] {
        let mark = marker();
        let chief = [calls(tool, json!({"task": "look"})), json!({"content": "wait"}).to_string()];
        let helper = calls("exec", json!({"command": format!("sleep {mark}")}));
        let instance = staffed(&chief.join("\n"), &helper, "");
        let mut command = instance.command(&["agent", "-m", "go"]);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the subagent's command runs", || alive(&format!("sleep\0{mark}")) > 0);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{tool}: {output:?}");
        wait_until("nothing is left", || alive(&mark) == 0);
        assert_eq!(instance.run(&["audit", "verify"]).code, 0, "{tool}");
    }
}

#[test]
fn a_session_shows_subagents_and_goes_on_when_they_are_done() {
    if !can_give_a_terminal() {
        return;
    }
    let chief = [
        calls("spawn", json!({"task": "look", "label": "scout"})),
        json!({"content": "it is under way"}).to_string(),
        json!({"content": "it is seven"}).to_string(),
    ];
    let helper =
        [calls("list_dir", json!({"path": "."})), r#"{"content": "seven", "delay_ms": 400}"#.to_owned()];
    let instance = staffed(&chief.join("\n"), &helper.join("\n"), "");
    let mut command = instance.command(&["agent"]);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::start(&command);
    terminal.until("main› ");
    terminal.type_in("go\r");
    for shown in [
        "scout (subagent-1) starts as main: look",
        "waiting for a subagent",
        "is done",
        "it is seven",
        "main› ",
    ] {
        terminal.until(shown);
    }
    terminal.type_in("exit\r");
    let (code, said) = terminal.end_with_all();
    assert_eq!(code, 0);
    // Before or after the line about the subagent, which another task prints.
    assert!(said.contains("it is under way"), "{said}");
}

#[test]
fn two_programs_that_spawn_at_once_keep_apart() {
    let instance = scripted("", "");
    let (dir, tasks) = (instance.dir().to_owned(), ["apples", "bananas"]);
    let all: Vec<_> = tasks
        .iter()
        .map(|word| {
            let spawn = calls("spawn", json!({"task": word}));
            let replies = format!("{spawn}\n{{\"content\": \"{word}\"}}\n{{\"content\": \"{word}\"}}\n{{\"content\": \"{word}\"}}\n");
            fs::write(dir.join("replies.jsonl"), &replies).unwrap();
            // Each program reads the script when it first asks; both run at the same time afterwards.
            let mut command = instance.command(&["agent", "-s", word, "-m", word]);
            let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_until("the program has begun", || {
                fs::metadata(instance.home().join(format!("state/sessions/main/{word}.jsonl"))).is_ok_and(|file| file.len() > 200)
            });
            child
        })
        .collect();
    for (child, word) in all.into_iter().zip(tasks) {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{word}\n"), "{output:?}");
        let said = instance.run(&["session", "show", word]).stdout;
        let other = tasks.iter().find(|other| **other != word).unwrap();
        assert!(said.contains(&format!("[SubTurn Result] {word}")) && !said.contains(other), "{said}");
    }
}
