//! Several agents: each has its own workspace, sessions and tools.

use crate::fixture::{Act, Fixture, call, say};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{AgentConfig, Config, IsolationConfig};
use picoclaw_sandbox::isolate::select_backend;

fn two(config: &mut Config) {
    let mut coder = AgentConfig::plain(AgentId::parse("coder").unwrap());
    coder.disabled_tools = vec!["write_file".to_owned()];
    config.agents.push(coder);
}

#[test]
fn sessions_of_the_same_name_are_apart() {
    let fixture = Fixture::with(vec![say("I am main"), say("I am coder"), say("again")], two);
    fixture.turn_as("main", "s", "who are you", &|_| {}).unwrap();
    fixture.turn_as("coder", "s", "and you", &|_| {}).unwrap();
    assert_eq!(fixture.sent().len(), 1, "nothing of main's was sent");
    fixture.turn_as("coder", "s", "once more", &|_| {}).unwrap();
    let said: Vec<_> = fixture.sent().into_iter().map(|message| message.content).collect();
    assert_eq!(said, ["and you", "I am coder", "once more"]);
}

#[test]
fn an_agent_is_told_its_own_texts_alone() {
    let fixture = Fixture::with(vec![say("x"), say("y")], two);
    std::fs::write(fixture.workspace().join("AGENT.md"), "text of main").unwrap();
    std::fs::write(fixture.home().join("workspace-coder/AGENT.md"), "text of coder").unwrap();
    for (agent, own, other) in
        [("main", "text of main", "text of coder"), ("coder", "text of coder", "text of main")]
    {
        fixture.turn_as(agent, "s", "go", &|_| {}).unwrap();
        let text = fixture.asked().pop().unwrap().messages[0].content.clone();
        assert!(text.contains(own) && !text.contains(other), "{agent}: {text}");
    }
}

#[test]
fn a_tool_that_is_switched_off_is_neither_offered_nor_run() {
    let act = || call(&[("write_file", r#"{"path": "a", "content": "x"}"#)]);
    let fixture = Fixture::with(vec![act(), say("no"), act(), say("yes")], two);
    fixture.turn_as("coder", "s", "go", &|_| {}).unwrap();
    assert!(fixture.asked()[0].tools.iter().all(|tool| tool.name != "write_file"));
    let records = fixture.records();
    assert_eq!((records[0]["code"].as_str(), records.len()), (Some("tool_disabled"), 2));
    assert!(!fixture.home().join("workspace-coder/a").exists());
    fixture.turn_as("main", "s", "go", &|_| {}).unwrap();
    assert!(fixture.workspace().join("a").exists(), "others have it");
}

#[test]
fn no_tool_and_no_child_reaches_another_agents_files() {
    let reach = |home: &str, isolated: bool| -> Vec<(String, String)> {
        let other = format!("{home}/workspace/secret.txt");
        let calls = [
            ("read_file", serde_json::json!({"path": other})),
            ("read_file", serde_json::json!({"path": "../workspace/secret.txt"})),
            ("read_file", serde_json::json!({"path": "link"})),
            ("read_file", serde_json::json!({"path": "hard"})),
            ("list_dir", serde_json::json!({"path": format!("{home}/workspace")})),
            ("append_file", serde_json::json!({"path": other, "content": "x"})),
            ("edit_file", serde_json::json!({"path": other, "old_text": "of", "new_text": "x"})),
            ("exec", serde_json::json!({"command": format!("cat {other}")})),
            ("exec", serde_json::json!({"command": "cat link"})),
            ("exec", serde_json::json!({"command": "cat *ink"})),
            ("exec", serde_json::json!({"command": "ls", "cwd": format!("{home}/workspace")})),
            // What the guard cannot see is left to the confinement: a fence holds writes, a cage everything.
            ("exec", serde_json::json!({"command": "sh ./change.sh"})),
        ];
        let hidden = [
            ("exec", serde_json::json!({"command": "sh ./look.sh"})),
            ("exec", serde_json::json!({"command": "python3 look.py"})),
        ];
        calls
            .into_iter()
            .chain(hidden.into_iter().filter(|_| isolated))
            .map(|(tool, json)| (tool.to_owned(), json.to_string()))
            .collect()
    };
    for isolated in [true, false] {
        let wanted = IsolationConfig { enabled: true, ..Config::default().isolation };
        if isolated && select_backend(&wanted, &std::env::var_os("PATH").unwrap_or_default()).is_err() {
            picoclaw_testing::skip!("this host has no cage");
            continue;
        }
        let fixture = Fixture::with(Vec::new(), |config| {
            two(config);
            config.agents[1].disabled_tools.clear();
            config.isolation.enabled = isolated;
        });
        let home = fixture.home();
        let (main, coder) = (home.join("workspace"), home.join("workspace-coder"));
        std::fs::write(main.join("secret.txt"), "words of another").unwrap();
        std::os::unix::fs::symlink(main.join("secret.txt"), coder.join("link")).unwrap();
        std::fs::hard_link(main.join("secret.txt"), coder.join("hard")).unwrap();
        let path = main.join("secret.txt");
        std::fs::write(
            coder.join("look.sh"),
            format!("cat '{0}'; cat /proc/self/root'{0}'; cat link", path.display()),
        )
        .unwrap();
        let change = format!("echo x >> '{0}'; mv '{0}' taken; touch '{0}.new'; echo tried", path.display());
        std::fs::write(coder.join("change.sh"), change).unwrap();
        std::fs::write(coder.join("look.py"), format!("print(open('{}').read())", path.display())).unwrap();
        let calls = reach(home.to_str().unwrap(), isolated);
        let acts: Vec<Act> = calls
            .iter()
            .map(|(tool, arguments)| call(&[(tool.as_str(), arguments.as_str())]))
            .chain([say("done")])
            .collect();
        let script = Fixture::with(acts, |_| {}).script;
        let runner = crate::fixture::open(&home, &fixture.config, &script);
        let turn = picoclaw_agent::run::Turn {
            subject: crate::fixture::subject("coder", "s"),
            input: "go".to_owned(),
            model: None,
            events: &|_| {},
            steering: &fixture.steering,
            halt: &fixture.halt,
        };
        crate::fixture::run(runner.turn(turn)).unwrap();
        let sent = script.asked.lock().unwrap().pop().unwrap().messages;
        let results: Vec<_> = sent.iter().filter(|message| message.tool_call_id.is_some()).collect();
        assert_eq!(results.len(), calls.len());
        for (result, (tool, arguments)) in results.iter().zip(&calls) {
            let text = &result.content;
            assert!(!text.contains("words of another"), "isolation {isolated}: {tool} {arguments}: {text}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "words of another", "isolation {isolated}");
        assert!(!main.join("secret.txt.new").exists(), "isolation {isolated}");
        assert!(results[11].content.contains("tried"), "the script ran: {}", results[11].content);
        // The control: its owner reads it by the same means.
        let script =
            Fixture::with(vec![call(&[("exec", r#"{"command": "cat secret.txt"}"#)]), say("ok")], |_| {})
                .script;
        let runner = crate::fixture::open(&home, &fixture.config, &script);
        let turn = picoclaw_agent::run::Turn {
            subject: crate::fixture::subject("main", "s"),
            input: "go".to_owned(),
            model: None,
            events: &|_| {},
            steering: &fixture.steering,
            halt: &fixture.halt,
        };
        crate::fixture::run(runner.turn(turn)).unwrap();
        let sent = script.asked.lock().unwrap().pop().unwrap().messages;
        assert!(sent[3].content.contains("words of another"), "{}", sent[3].content);
    }
}
