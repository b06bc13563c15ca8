//! What a subagent may: never more than anybody above it.

use super::play::{Stage, three};
use crate::fixture::{call, run, say};
use picoclaw_agent::run::Event;
use picoclaw_agent::run::SubagentEvent;
use picoclaw_policy::config::OnBlock;
use picoclaw_sandbox::permit::{Answer, Approval};
use std::sync::Mutex;

#[test]
fn a_subagent_three_spawns_down_starts_nobody() {
    let deeper = |task: &str| call(&[("subagent", format!(r#"{{"task": "{task}"}}"#).as_str())]);
    let stage = Stage::new(
        [
            ("go", vec![deeper("one"), say("end")]),
            ("one", vec![deeper("two"), say("1")]),
            ("two", vec![deeper("three"), say("2")]),
            ("three", vec![deeper("four"), call(&[("spawn", r#"{"task": "four"}"#)]), say("3")]),
        ],
        |_| {},
    );
    assert_eq!(stage.answer("go"), "end");
    let told = stage.told("three");
    for reply in [&told[2], &told[4]] {
        assert_eq!(reply.lines().next(), Some("sub-turn depth limit exceeded"), "{told:?}");
    }
    let refused: Vec<_> = stage.records().into_iter().filter(|record| record["verdict"] == "deny").collect();
    assert_eq!(refused.len(), 4, "each refusal has its two records");
    assert!(refused.iter().all(|r| r["code"] == "too_deep" && r["depth"] == 3 && r["origin"] == "subagent"));
}

#[test]
fn only_agents_that_the_list_names_are_started() {
    let (deny, itself) = ("not allowed to delegate to agent \"tester\"", "cannot delegate to self");
    for (why, tool, arguments, want) in [
        ("named", "delegate", r#"{"agent_id": "coder", "task": "x"}"#, "done"),
        ("not named", "delegate", r#"{"agent_id": "tester", "task": "x"}"#, deny),
        ("oneself", "delegate", r#"{"agent_id": "main", "task": "x"}"#, itself),
        ("nobody", "delegate", r#"{"agent_id": "", "task": "x"}"#, itself),
        (
            "by spawn",
            "spawn",
            r#"{"agent_id": "tester", "task": "x"}"#,
            "not allowed to spawn agent 'tester'",
        ),
        (
            "no task",
            "spawn",
            r#"{"task": "  "}"#,
            "invalid arguments for tool \"spawn\": property \"task\": must not be empty",
        ),
    ] {
        let acts = vec![call(&[(tool, arguments)]), say("end"), say("end")];
        let stage = Stage::new([("go", acts), ("x", vec![say("done")])], three);
        stage.answer("go");
        assert_eq!(stage.told("go")[2].lines().next(), Some(want), "{why}");
    }
    let alone = Stage::new([("go", vec![say("end")])], |_| {});
    alone.answer("go");
    let shown = alone.shown("go");
    assert!(
        shown.iter().any(|tool| tool == "spawn") && shown.iter().all(|tool| tool != "delegate"),
        "{shown:?}"
    );
}

#[test]
fn another_agent_works_in_its_own_workspace_and_not_in_the_starters() {
    let config_file = |home: &std::path::Path| home.join("config.json").display().to_string();
    let stage = Stage::new(Vec::new(), three);
    let (home, config) = (stage.home(), config_file(&stage.home()));
    let main_file = home.join("workspace/own.txt").display().to_string();
    std::fs::write(&main_file, "of main").unwrap();
    std::fs::write(&config, "{}").unwrap();
    let write = |path: &str| format!(r#"{{"path": "{path}", "content": "x", "overwrite": true}}"#);
    let acts = vec![
        call(&[("write_file", &write("mine.txt"))]),
        call(&[("write_file", &write(&main_file))]),
        call(&[("write_file", &write(&config))]),
        call(&[("exec", &format!(r#"{{"command": "echo x > {main_file}"}}"#))]),
        say("tried"),
    ];
    let delegate = call(&[("delegate", r#"{"agent_id": "coder", "task": "x"}"#)]);
    stage.play.cast([("go", vec![delegate, say("end")]), ("x", acts)]);
    stage.answer("go");
    let told = stage.told("x");
    assert_eq!(told[2], "File written: mine.txt");
    assert!(home.join("workspace-coder/mine.txt").exists() && !home.join("workspace/mine.txt").exists());
    for (at, what) in [(4, "its starter's files"), (6, "its limits")] {
        assert!(told[at].starts_with("access denied: path is outside the workspace"), "{what}: {}", told[at]);
    }
    assert!(told[8].starts_with("Command blocked by safety guard"), "{}", told[8]);
    assert_eq!(std::fs::read_to_string(&main_file).unwrap(), "of main");
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "{}");
}

#[test]
fn a_subagent_changes_neither_its_limits_nor_a_hooks_home() {
    let stage = Stage::new(Vec::new(), three);
    let home = stage.home();
    let targets = [
        ("its limits", "config.json"),
        ("what it has used", "state/usage/main.json"),
        ("what a hook runs", "runtime-user-env/hooks/gate/home/.profile"),
        ("what a hook remembers", "runtime-user-env/hooks/gate/home/kept"),
        ("a chat of its starter's", "state/sessions/main/other.jsonl"),
        ("a file of its starter's", "workspace/own.txt"),
    ];
    for (_, target) in &targets {
        std::fs::create_dir_all(home.join(target).parent().unwrap()).unwrap();
        std::fs::write(home.join(target), "kept").unwrap();
    }
    // What a command works out for itself is no longer the guard's: the fence holds it.
    let computed = |target: &str| {
        let path = home.join(target).display().to_string().replace('/', " ");
        let line = format!(r#"open(chr(47) + chr(47).join(\"{path}\".split()), \"a\").write(\"x\")"#);
        call(&[("exec", &format!(r#"{{"command": "python3 -c '{line}'"}}"#))])
    };
    let mut acts = vec![computed("workspace-coder/made")];
    for (_, target) in &targets {
        let path = home.join(target).display().to_string();
        let given = |more: &str| format!(r#"{{"path": "{path}", "content": "x"{more}}}"#);
        acts.push(call(&[("write_file", &given(r#", "overwrite": true"#))]));
        acts.push(call(&[("append_file", &given(""))]));
        acts.push(call(&[("exec", &format!(r#"{{"command": "echo x > {path}"}}"#))]));
        acts.push(computed(target));
    }
    acts.push(say("tried"));
    let delegate = call(&[("delegate", r#"{"agent_id": "coder", "task": "x"}"#)]);
    stage.play.cast([("go", vec![delegate, say("end")]), ("x", acts)]);
    stage.answer("go");
    let told = stage.told("x");
    for (what, target) in &targets {
        assert_eq!(std::fs::read_to_string(home.join(target)).unwrap(), "kept", "{what}: {told:?}");
    }
    assert!(home.join("workspace-coder/made").exists(), "control: the same command in its own place works");
    let said = |words: &str| told.iter().filter(|text| text.starts_with(words)).count();
    assert_eq!(said("access denied: path is outside the workspace"), 2 * targets.len(), "{told:?}");
    assert_eq!(said("Command blocked by safety guard"), targets.len(), "{told:?}");
    let held =
        told.iter().filter(|text| text.contains("PermissionError") || text.contains("Permission denied"));
    assert_eq!(held.count(), targets.len(), "{told:?}");
}

#[test]
fn what_the_starter_may_not_use_its_subagents_may_not_either() {
    let exec = || call(&[("exec", r#"{"command": "touch made"}"#)]);
    let delegate = || call(&[("delegate", r#"{"agent_id": "coder", "task": "x"}"#)]);
    for (why, off, allowed) in [
        ("control: nothing is switched off", None, true),
        ("its own list", Some(1), false),
        ("the list above", Some(0), false),
    ] {
        let stage =
            Stage::new([("go", vec![delegate(), say("end")]), ("x", vec![exec(), say("tried")])], |config| {
                three(config);
                if let Some(off) = off {
                    config.agents[off].disabled_tools = vec!["exec".to_owned()];
                }
            });
        stage.answer("go");
        assert_eq!(stage.home().join("workspace-coder/made").exists(), allowed, "{why}");
        assert_eq!(stage.shown("x").iter().any(|tool| tool == "exec"), allowed, "{why}: offered");
        let code = stage.records()[1]["code"].clone();
        assert_eq!(code.as_str(), if allowed { None } else { Some("tool_disabled") }, "{why}");
    }
}

#[test]
fn what_the_starter_may_not_start_its_subagents_may_not_either() {
    let delegate = |agent: &str, task: &str| {
        call(&[("delegate", format!(r#"{{"agent_id": "{agent}", "task": "{task}"}}"#).as_str())])
    };
    for (why, list, want) in [
        ("main does not name tester", vec!["coder"], "not allowed to delegate to agent \"tester\""),
        ("control: main does", vec!["coder", "tester"], "tested"),
    ] {
        let stage = Stage::new(
            [
                ("go", vec![delegate("coder", "middle"), say("end")]),
                ("middle", vec![delegate("tester", "bottom"), say("m")]),
                ("bottom", vec![say("tested")]),
            ],
            |config| {
                three(config);
                config.agents[0].allow_agents = list.into_iter().map(str::to_owned).collect();
                config.agents[1].allow_agents = vec!["*".to_owned()];
            },
        );
        stage.answer("go");
        assert_eq!(stage.told("middle")[2].lines().next(), Some(want), "{why}");
    }
}

#[test]
fn a_subagents_question_reaches_the_person_and_an_earlier_yes_is_not_its_own() {
    let danger = || call(&[("exec", r#"{"command": "sudo -n true; echo ran"}"#)]);
    let stage = Stage::new(
        [
            ("go", vec![danger(), call(&[("subagent", r#"{"task": "x"}"#)]), danger(), say("end")]),
            ("x", vec![danger(), say("asked")]),
        ],
        |config| config.tools.exec.on_block = OnBlock::Ask,
    );
    let asked = Mutex::new(Vec::new());
    let ending = run(stage.turn("s", "go", &|event| match event {
        Event::Ask(ask) => {
            asked.lock().unwrap().push("main");
            let _ = ask.answer.send(Answer::new(Approval::Session, "a person"));
        }
        Event::Subagent { event: SubagentEvent::Event(event), .. } => {
            if let Event::Ask(ask) = *event {
                asked.lock().unwrap().push("subagent");
                let _ = ask.answer.send(Answer::new(Approval::No, "a person"));
            }
        }
        _ => {}
    }))
    .unwrap();
    assert_eq!(*asked.lock().unwrap(), ["main", "subagent"], "a yes for the session is not the subagent's");
    assert!(stage.told("go")[2].contains("ran") && stage.told("go")[6].contains("ran"));
    assert!(!stage.told("x")[2].contains("ran"), "{:?}", stage.told("x"));
    assert!(!ending.needs_approval);
}

#[test]
fn a_question_that_nobody_can_be_asked_is_the_turns_own() {
    let stage = Stage::new(
        [
            ("go", vec![call(&[("subagent", r#"{"task": "x"}"#)]), say("end")]),
            ("x", vec![call(&[("exec", r#"{"command": "sudo true"}"#)]), say("no")]),
        ],
        |config| config.tools.exec.on_block = OnBlock::Ask,
    );
    let ending = run(stage.turn("s", "go", &|_| {})).unwrap();
    assert!(ending.needs_approval);
}
