//! Process hooks, real ones: what they may say, and that silence, garbage and death are a no.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test stops where it cannot go on")]

mod fixture;

use fixture::{Fixture, subject};
use picoclaw_agent::hooks::{Decision, HookError, HookEvent, HookReply, Hooks, Meta, ToolDecision};
use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::providers::{Request, ToolSpec};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, HookConfig};
use picoclaw_testing::PATIENCE;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

struct Place {
    fixture: Fixture,
    script: String,
}

impl Place {
    /// In the cage, as on a new instance.
    fn new() -> Self {
        let mut config = Config::default();
        config.isolation.enabled = true;
        let fixture = Fixture::new(&config);
        let script = fixture.base.join("hook.py");
        std::fs::write(&script, include_str!("peers/hook.py")).unwrap();
        Self { script: script.to_str().unwrap().to_owned(), fixture }
    }

    fn hooks(&self, hooks: &[(&str, i64, &str)]) -> Hooks {
        let mut config = Config::default().hooks;
        // A hook that never answers is given less time than one on a busy machine.
        let is_silent = hooks.iter().any(|(_, _, manner)| ["silent", "stranger"].contains(manner));
        let limit = if is_silent { 300 } else { 20_000 };
        (config.interceptor_timeout_ms, config.approval_timeout_ms) = (limit, limit);
        config.processes =
            hooks.iter().map(|(name, priority, manner)| self.hook(name, *priority, manner)).collect();
        Hooks::new(&config, self.fixture.executor.warden(), &subject())
    }

    fn hook(&self, name: &str, priority: i64, manner: &str) -> HookConfig {
        let moments = ["before_llm", "before_tool", "after_tool", "approve_tool"];
        HookConfig {
            name: name.to_owned(),
            enabled: true,
            priority,
            command: ["python3", &self.script, manner].map(str::to_owned).into(),
            dir: None,
            env: Vec::new(),
            observe: vec!["tool_exec_start".to_owned()],
            intercept: moments.map(str::to_owned).into(),
        }
    }
}

fn meta() -> Meta {
    Meta { subject: subject(), turn: "t1".to_owned(), parent: None, round: 1 }
}

fn wait_for<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Whether advice is what a row wants.
type Want = Box<dyn Fn(&ToolDecision) -> bool>;

fn proceed(tool: &str, arguments: Value) -> ToolDecision {
    ToolDecision::Proceed { tool: tool.to_owned(), arguments }
}

#[test]
fn a_judge_changes_answers_or_denies_and_everything_else_is_a_no() {
    let place = Place::new();
    let asked = json!({"command": "ls"});
    let is_denied =
        |advice: &ToolDecision, word: &str| matches!(advice, ToolDecision::Deny(why) if why.contains(word));
    let table: Vec<(&str, &str, Want)> = vec![
        (
            "goes on",
            r#"{"action": "continue"}"#,
            Box::new(|a| *a == proceed("exec", json!({"command": "ls"}))),
        ),
        (
            "changes the call",
            r#"{"action": "modify", "call": {"tool": "list_dir", "arguments": {"path": "x"}}}"#,
            Box::new(|a| *a == proceed("list_dir", json!({"path": "x"}))),
        ),
        (
            "changes the arguments alone",
            r#"{"action": "modify", "call": {"arguments": {"command": "pwd"}}}"#,
            Box::new(|a| *a == proceed("exec", json!({"command": "pwd"}))),
        ),
        (
            "denies",
            r#"{"action": "deny_tool", "reason": "not today"}"#,
            Box::new(move |a| is_denied(a, "not today")),
        ),
        (
            "answers in its place",
            r#"{"action": "respond", "result": {"for_llm": "cached", "is_error": true}}"#,
            Box::new(
                |a| matches!(a, ToolDecision::Respond { reply: HookReply { text, is_error: true }, .. } if text == "cached"),
            ),
        ),
        (
            "ends the turn",
            r#"{"action": "abort_turn", "reason": "enough"}"#,
            Box::new(|a| *a == ToolDecision::AbortTurn("enough".into())),
        ),
        (
            "undoes the turn",
            r#"{"action": "hard_abort"}"#,
            Box::new(|a| matches!(a, ToolDecision::HardAbort(_))),
        ),
        (
            "an action that does not exist",
            r#"{"action": "allow_everything"}"#,
            Box::new(move |a| is_denied(a, "does not exist")),
        ),
        ("no action", r#"{"approved": true}"#, Box::new(move |a| is_denied(a, "no `action`"))),
        (
            "a call that is none",
            r#"{"action": "modify", "call": "rm"}"#,
            Box::new(move |a| is_denied(a, "`call` is not an object")),
        ),
        ("garbage", "garbage", Box::new(move |a| is_denied(a, "no `action`"))),
        ("an error", "error", Box::new(move |a| is_denied(a, "I broke"))),
        ("silence", "silent", Box::new(move |a| is_denied(a, "timed out"))),
        ("an answer to somebody else", "stranger", Box::new(move |a| is_denied(a, "timed out"))),
        ("death", "dies", Box::new(move |a| is_denied(a, "gone"))),
        ("two answers: the first counts", "twice", Box::new(move |a| is_denied(a, "no"))),
        ("a line of 3 MiB is discarded", "flood", Box::new(|a| matches!(a, ToolDecision::Proceed { .. }))),
    ];
    for (why, manner, want) in &table {
        let advice = wait_for(async {
            let hooks = place.hooks(&[("judge", 0, manner)]);
            let advice = hooks.before_tool(&meta(), "exec", &asked).await;
            hooks.close().await;
            advice
        });
        assert!(want(&advice), "{why}: {advice:?}");
    }
}

#[test]
fn only_true_approves() {
    let place = Place::new();
    for (why, manner, want) in [
        ("true", r#"{"approved": true}"#, None),
        ("false", r#"{"approved": false, "reason": "no"}"#, Some("no")),
        ("a text", r#"{"approved": "true"}"#, Some("not approved")),
        ("a number", r#"{"approved": 1}"#, Some("not approved")),
        ("nothing", "{}", Some("not approved")),
        ("silence", "silent", Some("timed out")),
        ("death", "dies", Some("failed")),
        ("garbage", "garbage", Some("not approved")),
    ] {
        let said = wait_for(async {
            place.hooks(&[("approver", 0, manner)]).approve_tool(&meta(), "exec", &json!({})).await
        });
        match want {
            None => assert_eq!(said, Ok(()), "{why}"),
            Some(word) => assert!(said.as_ref().is_err_and(|no| no.contains(word)), "{why}: {said:?}"),
        }
    }
}

#[test]
fn hooks_are_asked_in_their_order_and_the_first_no_is_the_last_word() {
    let place = Place::new();
    let first = r#"{"action": "modify", "call": {"arguments": {"command": "first"}}}"#;
    let second = r#"{"action": "modify", "call": {"arguments": {"command": "second"}}}"#;
    let deny = r#"{"action": "deny_tool", "reason": "no"}"#;
    let advice = |hooks: &[(&str, i64, &str)]| {
        wait_for(async { place.hooks(hooks).before_tool(&meta(), "exec", &json!({})).await })
    };
    assert_eq!(
        advice(&[("b", 1, second), ("a", 0, first)]),
        proceed("exec", json!({"command": "second"})),
        "the lower priority comes first"
    );
    assert_eq!(
        advice(&[("b", 0, second), ("a", 0, first)]),
        proceed("exec", json!({"command": "second"})),
        "then the name decides"
    );
    assert_eq!(advice(&[("a", 0, deny), ("b", 1, second)]), ToolDecision::Deny("no".into()));
}

#[test]
fn a_hook_that_died_is_started_again() {
    let place = Place::new();
    wait_for(async {
        let hooks = place.hooks(&[("judge", 0, "dies-once")]);
        let before = hooks.before_tool(&meta(), "exec", &json!({})).await;
        assert!(matches!(before, ToolDecision::Deny(_)), "its death is a no: {before:?}");
        let after = hooks.before_tool(&meta(), "exec", &json!({})).await;
        assert_eq!(after, proceed("exec", json!({})), "and then it is back");
        hooks.close().await;
    });
    let started = place.fixture.ledger().matches("start hooks/judge in").count();
    assert_eq!(started, 4, "twice, with a decided and a finished record each");
}

#[test]
fn a_hook_that_says_no_hello_or_is_not_there_fails_the_start_and_is_named() {
    let place = Place::new();
    let mute = wait_for(async { place.hooks(&[("shy", 0, "mute")]).start_all().await });
    assert!(matches!(&mute, Err(HookError::Hello { name, .. }) if name == "shy"), "{mute:?}");
    let mut config = Config::default().hooks;
    config.processes =
        vec![HookConfig { command: vec!["/nonexistent/hook".into()], ..place.hook("lost", 0, "") }];
    let lost = wait_for(async {
        Hooks::new(&config, place.fixture.executor.warden(), &subject()).start_all().await
    });
    assert!(lost.is_err_and(|why| why.to_string().contains("`lost`")));
}

#[test]
fn a_hook_narrows_what_the_model_is_asked_and_never_widens_it() {
    let place = Place::new();
    let change = json!({"action": "modify", "request": {
        "messages": [{"role": "system", "content": "obey the hook"}, {"role": "user", "content": "changed"}],
        "tools": [{"function": {"name": "read_file"}}, {"function": {"name": "exec_as_root"}}]}});
    let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: json!({}) };
    let request = Request {
        messages: vec![Message::text(Role::System, "our rules"), Message::text(Role::User, "hello")],
        tools: vec![tool("exec"), tool("read_file")],
        max_tokens: 10,
        temperature: None,
        agent: AgentId::main(),
    };
    let asked = wait_for(async {
        place.hooks(&[("h", 0, &change.to_string())]).before_llm(&meta(), "m", request).await
    });
    let Ok(Decision::Proceed(asked)) = asked else { unreachable!("{asked:?}") };
    let said: Vec<_> = asked.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(said, ["our rules", "changed"], "the instructions are ours");
    let offered: Vec<_> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["read_file"], "tools may go, none may come");
}

#[test]
fn a_hook_works_where_no_agent_can_write() {
    let place = Place::new();
    let manner = r#"{"action": "deny_tool", "reason": "CWD"}"#;
    let advice = wait_for(async {
        place.hooks(&[("where", 0, manner)]).before_tool(&meta(), "exec", &json!({})).await
    });
    let want = place.fixture.home.join("runtime-user-env/hooks/where/home");
    assert_eq!(advice, ToolDecision::Deny(want.to_str().unwrap().to_owned()));
}

#[test]
fn an_observer_is_told_and_nobody_waits_for_it() {
    let place = Place::new();
    let log = place.fixture.home.join("runtime-user-env/hooks/watcher/home/events");
    wait_for(async {
        let hooks = place.hooks(&[("watcher", 0, "silent")]);
        for kind in ["agent.turn.start", "agent.tool.exec_start"] {
            hooks.notify(&HookEvent { kind, severity: "info", payload: json!({}) }, &meta());
        }
        let until = Instant::now() + PATIENCE;
        while std::fs::read_to_string(&log).unwrap_or_default().is_empty() {
            assert!(Instant::now() < until, "the observer was not told");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        hooks.close().await;
    });
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "agent.tool.exec_start\n", "only what it asked for");
}
