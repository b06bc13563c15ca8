//! Jobs for real: the same desk, records and hooks as every other call, and an `exec` with a time of its own.

use crate::hooks::hooked;
use crate::house::{Act, House, call, executor, run, say, subject};
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::providers::ErrorClass;
use picoclaw_agent::schedule::cron::{
    CronTool, Job, JobExecutor, JobResult, JobScope, LastStatus, NewJob, Schedule, Store, Task, run_now,
    system_clock,
};
use picoclaw_agent::tools::{Tool, ToolContext, unwatched};
use picoclaw_policy::config::{AgentConfig, Config, OnBlock};
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn add(house: &House, agent: &str, task: Task) -> Job {
    let agent = AgentId::parse(agent).unwrap();
    let added =
        NewJob { name: None, agent, lineage: Vec::new(), task, schedule: Schedule::every(3600).unwrap() };
    Store::open(&house.home()).unwrap().add(added, 1_800_000_000_000).unwrap()
}

fn fire(house: &House, job: &Job) -> JobResult {
    fire_until(house, job, &CancelToken::new())
}

fn fire_until(house: &House, job: &Job, halt: &CancelToken) -> JobResult {
    let (executor, _) = executor(&house.home(), &house.config);
    let jobs = JobExecutor::new(house.runner.clone(), &executor, &house.config, Arc::new(|_, _| {}));
    let store = Store::open(&house.home()).unwrap();
    run(run_now(&store, &job.id, &jobs, &system_clock(), halt)).unwrap()
}

fn command(text: &str) -> Task {
    Task::Command(text.to_owned())
}

fn state_of(house: &House, job: &Job) -> (Option<LastStatus>, Option<String>) {
    let state = Store::open(&house.home()).unwrap().get(&job.id, JobScope::All).unwrap().state;
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
        let house = House::new(Vec::new());
        let job = add(&house, "main", command(text));
        let done = fire(&house, &job);
        assert_eq!(done.status, status, "{why}: {}", done.text);
        assert!(done.text.contains(words), "{why}: {}", done.text);
        assert_eq!(state_of(&house, &job).0, Some(status), "{why}");
        assert_eq!(state_of(&house, &job).1.is_some(), status != LastStatus::Ok, "{why}");
        let records = house.records();
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
    let house = House::with(Vec::new(), |config| config.tools.exec.on_block = OnBlock::Ask);
    let job = add(&house, "main", command("sudo ls"));
    assert_eq!(fire(&house, &job).status, LastStatus::Refused);
    assert_eq!(house.records().last().unwrap()["outcome"], "nobody could be asked");
}

#[test]
fn a_job_has_the_time_of_jobs_and_not_that_of_calls() {
    let house = House::with(Vec::new(), |config| {
        config.tools.exec.timeout_seconds = 1;
        config.tools.cron_exec_timeout_minutes = 5;
    });
    let job = add(&house, "main", command("sleep 2; echo late"));
    let done = fire(&house, &job);
    assert_eq!((done.status, done.text.trim()), (LastStatus::Ok, "late"));
    let house = House::with(Vec::new(), |config| config.tools.cron_exec_timeout_minutes = 0);
    let job = add(&house, "main", command("echo no limit"));
    assert_eq!(fire(&house, &job).status, LastStatus::Ok, "zero is no limit");
}

#[test]
fn a_stopped_job_ends_its_command() {
    let house = House::new(Vec::new());
    let job = add(&house, "main", command("sleep 50"));
    let halt = CancelToken::new();
    let raised = halt.clone();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            raised.cancel();
        });
        assert_eq!(fire_until(&house, &job, &halt).status, LastStatus::Error);
    });
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn hooks_see_a_job_like_any_other_call() {
    let house = House::with(Vec::new(), |config| {
        hooked(config, &["before_tool"], r#"{"action": "deny_tool", "reason": "not at night"}"#);
    });
    let job = add(&house, "main", command("touch ran"));
    let done = fire(&house, &job);
    assert_eq!(done.status, LastStatus::Refused);
    assert!(done.text.contains("not at night"), "{}", done.text);
    assert!(!house.workspace().join("ran").exists());
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
        let house = House::with(vec![say("ran")], gate);
        let job = add(&house, "main", task);
        assert_eq!(fire(&house, &job).status, LastStatus::Refused, "{why}");
        assert!(!house.workspace().join("ran").exists() && house.asked().is_empty(), "{why}");
        assert_eq!(house.records()[0]["verdict"], "deny", "{why}: and it is recorded");
    }
}

#[test]
fn a_message_is_a_turn_in_a_session_of_its_own() {
    let acts = || vec![call(&[("exec", r#"{"command": "echo in a turn"}"#)]), say("done"), say("again")];
    let house = House::new(acts());
    let job = add(&house, "main", Task::Message("water the plants".to_owned()));
    let done = fire(&house, &job);
    assert_eq!((done.status, done.text.as_str()), (LastStatus::Ok, "done"));
    assert!(house.records().iter().all(|record| record["origin"] == "cron"));
    assert_eq!(fire(&house, &job).text, "again");
    assert_eq!(house.sent().len(), 1, "the second run knows nothing of the first");
    let listed = house.runner.sessions().list(&AgentId::main()).unwrap();
    let stem = format!("agent:cron-{}-", job.id);
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|session| session.name.starts_with(&stem)), "{listed:?}");
    let house = House::new(vec![Act::Fail(ErrorClass::Auth, "no key")]);
    let job = add(&house, "main", Task::Message("x".to_owned()));
    assert_eq!(fire(&house, &job).status, LastStatus::Error);
    assert!(state_of(&house, &job).1.unwrap().contains("no key"));
    let house = House::new(Vec::new());
    let job = add(&house, "nobody", Task::Message("x".to_owned()));
    assert_eq!(fire(&house, &job).status, LastStatus::Error, "an agent that is not there any more");
}

#[test]
fn old_sessions_of_a_job_go() {
    let house = House::new((0..25).map(|n| say(&n.to_string())).collect());
    let job = add(&house, "main", Task::Message("x".to_owned()));
    for _ in 0..25 {
        assert_eq!(fire(&house, &job).status, LastStatus::Ok);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(house.runner.sessions().list(&AgentId::main()).unwrap().len(), 20);
}

/// One call of the tool on behalf of an agent.
fn tool(house: &House, agent: &str, arguments: &Value) -> Reply {
    tool_as(house, subject(agent, "s"), arguments)
}

fn tool_as(house: &House, subject: Subject, arguments: &Value) -> Reply {
    let (executor, _) = executor(&house.home(), &house.config);
    let store = Store::open(&house.home()).unwrap();
    let cron = CronTool::new(store, system_clock(), &house.config.tools, Arc::new(|| {}));
    let registry = executor.registry().with([Arc::new(cron) as Arc<dyn Tool>]);
    let visit = ToolContext {
        warden: executor.warden(),
        subject: &subject,
        halt: &CancelToken::new(),
        watcher: &unwatched,
    };
    let call = Call { tool: "cron".to_owned(), arguments: arguments.clone(), subject: subject.clone() };
    registry.run_unattended(&call, &visit)
}

fn two_agents(config: &mut Config) {
    let other = AgentConfig { id: AgentId::parse("other").unwrap(), ..config.agents[0].clone() };
    config.agents.push(other);
}

#[test]
fn an_agent_keeps_its_own_jobs_and_finds_no_others() {
    let house = House::with(Vec::new(), two_agents);
    let made = tool(&house, "main", &json!({"action": "add", "message": "hi", "every_seconds": 60})).text();
    let id = made.split("(id: ").nth(1).unwrap().trim_end_matches(')').to_owned();
    assert_eq!(made, format!("Cron job added: hi (id: {id})"));
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    for action in ["get", "update", "remove", "enable", "disable"] {
        let reply = tool(&house, "other", &json!({"action": action, "job_id": id, "name": "mine now"}));
        assert_eq!(reply, Reply::Failed(format!("job {id} not found")), "{action}");
    }
    assert_eq!(tool(&house, "other", &json!({"action": "list"})).text(), "No scheduled jobs");
    let listed = tool(&house, "main", &json!({"action": "list"})).text();
    assert_eq!(listed, format!("Scheduled jobs:\n- hi (id: {id}, every 60s)"));
    let got: Value =
        serde_json::from_str(&tool(&house, "main", &json!({"action": "get", "job_id": id})).text()).unwrap();
    assert_eq!((&got["agent"], &got["payload"]["kind"]), (&json!("main"), &json!("agent_turn")));
    for (action, told) in [
        ("update", "Cron job updated: "),
        ("disable", "Cron job disabled: "),
        ("enable", "Cron job enabled: "),
        ("remove", "Cron job removed: "),
    ] {
        let reply = tool(&house, "main", &json!({"action": action, "job_id": id, "cron_expr": "0 9 * * *"}));
        assert_eq!(reply, Reply::Done(format!("{told}{id}")), "{action}");
    }
    let records = house.records();
    let pairs = records.iter().filter(|record| record["tool"] == "cron").count();
    assert_eq!(pairs % 2, 0, "each call is decided and finished");
    assert!(records.iter().any(|record| record["intent"].as_str().unwrap().starts_with("schedule add")));
}

#[test]
fn what_does_not_fit_is_named_and_recorded() {
    let house = House::new(Vec::new());
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
        let reply = tool(&house, "main", &arguments);
        assert!(matches!(reply, Reply::Refused(_)), "{why}: {reply:?}");
        assert!(reply.text().contains(want), "{why}: {}", reply.text());
    }
    assert!(Store::open(&house.home()).unwrap().read().unwrap().is_empty());
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
        let house = House::with(Vec::new(), gate);
        let reply = tool(&house, "main", &asked);
        assert_eq!(matches!(reply, Reply::Done(_)), may, "{why}: {reply:?}");
        assert_eq!(Store::open(&house.home()).unwrap().read().unwrap().len(), usize::from(may), "{why}");
    }
}

#[test]
fn a_subagents_job_may_what_everybody_above_it_may() {
    // `main` has no `exec`; `other`, which works for it, has.
    let house = House::with(vec![call(&[("exec", r#"{"command": "touch ran"}"#)]), say("tried")], |config| {
        two_agents(config);
        config.agents[0].disabled_tools = vec!["exec".to_owned()];
    });
    let other = AgentId::parse("other").unwrap();
    let below = subject("main", "s").child(other.clone(), "sub");
    let adds = |what: &str| json!({"action": "add", what: "touch ran", "every_seconds": 3600});
    let refused = tool_as(&house, below.clone(), &adds("command"));
    assert!(matches!(refused, Reply::Refused(_)), "{refused:?}");
    assert!(matches!(tool_as(&house, below.clone(), &adds("message")), Reply::Done(_)));
    let store = Store::open(&house.home()).unwrap();
    let job = store.read().unwrap().pop().unwrap();
    assert_eq!((job.agent.as_str(), &job.lineage), ("other", &vec!["main".to_owned()]));
    fire(&house, &job);
    assert!(!house.workspace().with_file_name("workspace-other").join("ran").exists());
    // A job of its own, made when nobody was above it, is bound as soon as it is changed from below.
    let own = add(&house, "other", Task::Message("x".to_owned()));
    let update = json!({"action": "update", "job_id": own.id, "message": "y"});
    assert!(matches!(tool_as(&house, below, &update), Reply::Done(_)));
    assert_eq!(store.get(&own.id, JobScope::Own(&other)).unwrap().lineage, ["main"]);
}
