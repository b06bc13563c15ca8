//! Jobs for real: the same policy check, records and hooks as every other call, and an `exec` with a time of its own.

use crate::fixture::{Act, Fixture, call, executor, run, say, subject};
use crate::hooks::hooked;
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::providers::ErrorClass;
use picoclaw_agent::schedule::cron::{
    CronTool, Job, JobExecutor, JobResult, JobScope, LastStatus, NewJob, Schedule, Store, Switch, Task,
    now_ms, run_now, system_clock,
};
use picoclaw_agent::tools::{Tool, ToolContext, unwatched};
use picoclaw_policy::config::{AgentConfig, Config, OnBlock};
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn add(fixture: &Fixture, agent: &str, task: Task) -> Job {
    let agent = AgentId::parse(agent).unwrap();
    let added =
        NewJob { name: None, agent, lineage: Vec::new(), task, schedule: Schedule::every(3600).unwrap() };
    Store::open(&fixture.home()).unwrap().add(added, 1_800_000_000_000).unwrap()
}

fn fire(fixture: &Fixture, job: &Job) -> JobResult {
    fire_until(fixture, job, &CancelToken::new())
}

fn fire_until(fixture: &Fixture, job: &Job, halt: &CancelToken) -> JobResult {
    let (executor, _) = executor(&fixture.home(), &fixture.config);
    let jobs = JobExecutor::new(fixture.runner.clone(), &executor, &fixture.config, Arc::new(|_, _| {}));
    let store = Store::open(&fixture.home()).unwrap();
    run(run_now(&store, &job.id, &jobs, &system_clock(), halt)).unwrap()
}

fn command(text: &str) -> Task {
    Task::Command(text.to_owned())
}

fn state_of(fixture: &Fixture, job: &Job) -> (Option<LastStatus>, Option<String>) {
    let state = Store::open(&fixture.home()).unwrap().get(&job.id, JobScope::All).unwrap().state;
    (state.last_status, state.last_error)
}

#[test]
fn a_command_is_a_call_of_exec_and_its_status_is_true() {
    for (why, text, status, words) in [
        ("done", "echo hi", LastStatus::Ok, "hi"),
        ("failed", "exit 3", LastStatus::Error, "Command exited with code 3"),
        ("refused by the guard", "sudo ls", LastStatus::Refused, "Command blocked by safety guard"),
        ("refused by its path", "cat /etc/shadow", LastStatus::Refused, "Command blocked by safety guard"),
    ] {
        let fixture = Fixture::new(Vec::new());
        let job = add(&fixture, "main", command(text));
        let done = fire(&fixture, &job);
        assert_eq!(done.status, status, "{why}: {}", done.text);
        assert!(done.text.contains(words), "{why}: {}", done.text);
        assert_eq!(state_of(&fixture, &job).0, Some(status), "{why}");
        assert_eq!(state_of(&fixture, &job).1.is_some(), status != LastStatus::Ok, "{why}");
        let records = fixture.records();
        let phases: Vec<_> = records.iter().map(|record| record["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["decided", "finished"], "{why}");
        for record in &records {
            assert_eq!((&record["origin"], &record["tool"]), (&json!("cron"), &json!("exec")), "{why}");
            assert_eq!(record["session"], format!("cron:{}", job.id), "{why}");
            assert_eq!(record["agent"], "main", "{why}");
        }
    }
}

#[test]
fn a_question_that_nobody_can_answer_is_a_refusal() {
    let fixture = Fixture::with(Vec::new(), |config| config.tools.exec.on_block = OnBlock::Ask);
    let job = add(&fixture, "main", command("sudo ls"));
    assert_eq!(fire(&fixture, &job).status, LastStatus::Refused);
    assert_eq!(fixture.records().last().unwrap()["outcome"], "no approver was available");
}

#[test]
fn a_job_has_the_time_of_jobs_and_not_that_of_calls() {
    let fixture = Fixture::with(Vec::new(), |config| {
        config.tools.exec.timeout_seconds = 1;
        config.tools.cron_exec_timeout_minutes = 5;
    });
    let job = add(&fixture, "main", command("sleep 2; echo late"));
    let done = fire(&fixture, &job);
    assert_eq!((done.status, done.text.trim()), (LastStatus::Ok, "late"));
    let fixture = Fixture::with(Vec::new(), |config| config.tools.cron_exec_timeout_minutes = 0);
    let job = add(&fixture, "main", command("echo no limit"));
    assert_eq!(fire(&fixture, &job).status, LastStatus::Ok, "zero is no limit");
}

#[test]
fn a_stopped_job_ends_its_command() {
    let fixture = Fixture::new(Vec::new());
    let job = add(&fixture, "main", command("sleep 50"));
    let halt = CancelToken::new();
    let raised = halt.clone();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            raised.cancel();
        });
        assert_eq!(fire_until(&fixture, &job, &halt).status, LastStatus::Error);
    });
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn hooks_see_a_job_like_any_other_call() {
    let fixture = Fixture::with(Vec::new(), |config| {
        hooked(config, &["before_tool"], r#"{"action": "deny_tool", "reason": "not at night"}"#);
    });
    let job = add(&fixture, "main", command("touch ran"));
    let done = fire(&fixture, &job);
    assert_eq!(done.status, LastStatus::Refused);
    assert!(done.text.contains("not at night"), "{}", done.text);
    assert!(!fixture.workspace().join("ran").exists());
}

#[test]
fn every_gate_is_looked_at_again_when_a_job_runs() {
    type Gate = fn(&mut Config);
    let gates: [(&str, Gate, Task); 4] = [
        ("no commands", |config| config.tools.cron_allow_command = false, command("touch ran")),
        ("no cron", |config| config.tools.disabled = vec!["cron".to_owned()], command("touch ran")),
        ("no exec", |config| config.tools.disabled = vec!["exec".to_owned()], command("touch ran")),
        (
            "no cron for a message",
            |config| config.tools.disabled = vec!["cron".to_owned()],
            Task::Message("x".to_owned()),
        ),
    ];
    for (why, gate, task) in gates {
        let fixture = Fixture::with(vec![say("ran")], gate);
        let job = add(&fixture, "main", task);
        assert_eq!(fire(&fixture, &job).status, LastStatus::Refused, "{why}");
        assert!(!fixture.workspace().join("ran").exists() && fixture.asked().is_empty(), "{why}");
        assert_eq!(fixture.records()[0]["verdict"], "deny", "{why}: and it is recorded");
    }
}

#[test]
fn a_message_is_a_turn_in_a_session_of_its_own() {
    let acts = || vec![call(&[("exec", r#"{"command": "echo in a turn"}"#)]), say("done"), say("again")];
    let fixture = Fixture::new(acts());
    let job = add(&fixture, "main", Task::Message("water the plants".to_owned()));
    let done = fire(&fixture, &job);
    assert_eq!((done.status, done.text.as_str()), (LastStatus::Ok, "done"));
    assert!(fixture.records().iter().all(|record| record["origin"] == "cron"));
    assert_eq!(fire(&fixture, &job).text, "again");
    assert_eq!(fixture.sent().len(), 1, "the second run knows nothing of the first");
    let listed = fixture.runner.sessions().list(&AgentId::main()).unwrap();
    let stem = format!("agent:cron-{}-", job.id);
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|session| session.name.starts_with(&stem)), "{listed:?}");
    let fixture = Fixture::new(vec![Act::Fail(ErrorClass::Auth, "no key")]);
    let job = add(&fixture, "main", Task::Message("x".to_owned()));
    assert_eq!(fire(&fixture, &job).status, LastStatus::Error);
    assert!(state_of(&fixture, &job).1.unwrap().contains("no key"));
    let fixture = Fixture::new(Vec::new());
    let job = add(&fixture, "nobody", Task::Message("x".to_owned()));
    assert_eq!(fire(&fixture, &job).status, LastStatus::Error, "an agent that is not there any more");
}

#[test]
fn old_sessions_of_a_job_go() {
    let fixture = Fixture::new((0..25).map(|n| say(&n.to_string())).collect());
    let job = add(&fixture, "main", Task::Message("x".to_owned()));
    for _ in 0..25 {
        assert_eq!(fire(&fixture, &job).status, LastStatus::Ok);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(fixture.runner.sessions().list(&AgentId::main()).unwrap().len(), 20);
}

/// One call of the tool on behalf of an agent.
fn tool(fixture: &Fixture, agent: &str, arguments: &Value) -> Reply {
    tool_as(fixture, subject(agent, "s"), arguments)
}

fn tool_as(fixture: &Fixture, subject: Subject, arguments: &Value) -> Reply {
    let (executor, _) = executor(&fixture.home(), &fixture.config);
    let store = Store::open(&fixture.home()).unwrap();
    let cron = CronTool::new(store, system_clock(), &fixture.config.tools, Arc::new(|| {}));
    let registry = executor.registry().with([Arc::new(cron) as Arc<dyn Tool>]);
    let halt = CancelToken::new();
    let context = ToolContext::new(executor.warden(), &subject, &halt, &unwatched);
    let call = Call { tool: "cron".to_owned(), arguments: arguments.clone(), subject: subject.clone() };
    registry.run_unattended(&call, &context)
}

fn two_agents(config: &mut Config) {
    let other = AgentConfig { id: AgentId::parse("other").unwrap(), ..config.agents[0].clone() };
    config.agents.push(other);
}

#[test]
fn an_agent_keeps_its_own_jobs_and_finds_no_others() {
    let fixture = Fixture::with(Vec::new(), two_agents);
    let made = tool(&fixture, "main", &json!({"action": "add", "message": "hi", "every_seconds": 60})).text();
    let id = made.split("(id: ").nth(1).unwrap().trim_end_matches(')').to_owned();
    assert_eq!(made, format!("Cron job added: hi (id: {id})"));
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    for action in ["get", "update", "remove", "enable", "disable"] {
        let reply = tool(&fixture, "other", &json!({"action": action, "job_id": id, "name": "mine now"}));
        assert_eq!(reply, Reply::Failed(format!("job {id} not found")), "{action}");
    }
    assert_eq!(tool(&fixture, "other", &json!({"action": "list"})).text(), "No scheduled jobs");
    let listed = tool(&fixture, "main", &json!({"action": "list"})).text();
    assert_eq!(listed, format!("Scheduled jobs:\n- hi (id: {id}, every 60s)"));
    let got: Value =
        serde_json::from_str(&tool(&fixture, "main", &json!({"action": "get", "job_id": id})).text())
            .unwrap();
    assert_eq!((&got["agent"], &got["payload"]["kind"]), (&json!("main"), &json!("agent_turn")));
    for (action, told) in [
        ("update", "Cron job updated: "),
        ("disable", "Cron job disabled: "),
        ("enable", "Cron job enabled: "),
        ("remove", "Cron job removed: "),
    ] {
        let reply =
            tool(&fixture, "main", &json!({"action": action, "job_id": id, "cron_expr": "0 9 * * *"}));
        assert_eq!(reply, Reply::Done(format!("{told}{id}")), "{action}");
    }
    let records = fixture.records();
    let pairs = records.iter().filter(|record| record["tool"] == "cron").count();
    assert_eq!(pairs % 2, 0, "each call is decided and finished");
    assert!(records.iter().any(|record| record["intent"].as_str().unwrap().starts_with("schedule add")));
}

#[test]
fn what_does_not_fit_is_named_and_recorded() {
    let fixture = Fixture::new(Vec::new());
    for (why, arguments, want) in [
        ("no action", json!({}), "missing required property \"action\""),
        ("another action", json!({"action": "explode"}), "unknown action: explode"),
        (
            "no time",
            json!({"action": "add", "message": "x"}),
            "at_seconds, every_seconds or cron_expr is required",
        ),
        ("nothing to do", json!({"action": "add", "every_seconds": 5}), "message or command is required"),
        ("no id", json!({"action": "remove"}), "job_id is required for remove"),
        (
            "no expression",
            json!({"action": "add", "message": "x", "cron_expr": "often"}),
            "invalid cron expression",
        ),
        (
            "no zone",
            json!({"action": "add", "message": "x", "cron_expr": "* * * * *", "tz": "Mars/Olympus"}),
            "unknown time zone",
        ),
        (
            "a negative time",
            json!({"action": "add", "message": "x", "every_seconds": -5}),
            "a negative number",
        ),
    ] {
        let reply = tool(&fixture, "main", &arguments);
        assert!(matches!(reply, Reply::Refused(_)), "{why}: {reply:?}");
        assert!(reply.text().contains(want), "{why}: {}", reply.text());
    }
    assert!(Store::open(&fixture.home()).unwrap().read().unwrap().is_empty());
}

#[test]
fn a_model_cannot_confirm_its_own_command() {
    let asked = json!({"action": "add", "command": "echo hi", "command_confirm": true, "every_seconds": 60});
    type Gate = fn(&mut Config);
    let gates: [(&str, Gate, bool); 3] = [
        ("as it comes", |_| {}, true),
        ("commands are switched off", |config| config.tools.cron_allow_command = false, false),
        ("so is exec", |config| config.tools.disabled = vec!["exec".to_owned()], false),
    ];
    for (why, gate, may) in gates {
        let fixture = Fixture::with(Vec::new(), gate);
        let reply = tool(&fixture, "main", &asked);
        assert_eq!(matches!(reply, Reply::Done(_)), may, "{why}: {reply:?}");
        assert_eq!(Store::open(&fixture.home()).unwrap().read().unwrap().len(), usize::from(may), "{why}");
    }
}

#[test]
fn a_subagents_job_may_what_everybody_above_it_may() {
    // `main` has no `exec`; `other`, which works for it, has.
    let fixture =
        Fixture::with(vec![call(&[("exec", r#"{"command": "touch ran"}"#)]), say("tried")], |config| {
            two_agents(config);
            config.agents[0].disabled_tools = vec!["exec".to_owned()];
        });
    let other = AgentId::parse("other").unwrap();
    let below = subject("main", "s").child(other.clone(), "sub");
    let adds = |what: &str| json!({"action": "add", what: "touch ran", "every_seconds": 3600});
    let refused = tool_as(&fixture, below.clone(), &adds("command"));
    assert!(matches!(refused, Reply::Refused(_)), "{refused:?}");
    assert!(matches!(tool_as(&fixture, below.clone(), &adds("message")), Reply::Done(_)));
    let store = Store::open(&fixture.home()).unwrap();
    let job = store.read().unwrap().pop().unwrap();
    assert_eq!((job.agent.as_str(), &job.lineage), ("other", &vec!["main".to_owned()]));
    fire(&fixture, &job);
    assert!(!fixture.workspace().with_file_name("workspace-other").join("ran").exists());
    // A job of its own, made with no agent above it, is bound as soon as it is changed from below.
    for change in [json!({"action": "update", "message": "y"}), json!({"action": "enable"})] {
        let own = add(&fixture, "other", Task::Message("x".to_owned()));
        store.switch(&own.id, Switch::Off, &[], JobScope::All, now_ms()).unwrap();
        let mut change = change;
        change["job_id"] = own.id.clone().into();
        let lineage = || store.get(&own.id, JobScope::Own(&other)).unwrap().lineage;
        assert!(matches!(tool(&fixture, "other", &change), Reply::Done(_)));
        assert!(lineage().is_empty(), "the control: {change} by the agent itself");
        assert!(matches!(tool_as(&fixture, below.clone(), &change), Reply::Done(_)));
        assert_eq!(lineage(), ["main"], "{change}");
    }
}
