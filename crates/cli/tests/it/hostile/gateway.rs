//! `picoclaw gateway`: chats, jobs and the heartbeat of one that runs, and a subagent that one of them starts.

use super::entry_point::{Asked, EntryPoint, Told, delegated, script};
use crate::gateway::client::Gateway;
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fs;

/// What makes a gateway's model make calls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spark {
    /// A client that chats over HTTP.
    Chat,
    /// A job that is a message.
    Job,
    /// The heartbeat.
    Beat,
}

/// A turn of the gateway's, which makes every call itself or has a subagent make them.
#[derive(Debug)]
pub(crate) struct Turn(pub(crate) Spark, pub(crate) u64);

/// Jobs that are commands, one for each call.
#[derive(Debug)]
pub(crate) struct Commands;

/// Commands that `main` scheduled because `coder` delegated it, run by hand.
#[derive(Debug)]
pub(crate) struct CommandsBelow;

impl EntryPoint for CommandsBelow {
    fn origin(&self) -> &'static str {
        "cron"
    }

    fn depth(&self) -> u64 {
        1
    }

    fn lineage(&self) -> Vec<&'static str> {
        vec!["coder"]
    }

    fn starts(&self) -> u64 {
        0
    }

    fn takes(&self, call: &Asked) -> bool {
        Commands.takes(call)
    }

    fn prepare(&self, instance: &TestInstance, calls: &[Asked]) {
        let add = |(_, arguments): &Asked| {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let job = json!({"action": "add", "name": "row", "command": arguments["command"], "every_seconds": 3600});
            ("cron".to_owned(), job.to_string())
        };
        let adds: Vec<Asked> = calls.iter().map(add).collect();
        fs::write(instance.dir().join("replies.jsonl"), delegated(&script(1, &adds))).unwrap();
        within(instance, &[], |gateway| {
            let asked = json!({"model": "coder", "messages": [{"role": "user", "content": "go"}]});
            let answer = gateway.post("/v1/chat/completions", &asked);
            assert_eq!(answer.status, 200, "{answer:?}");
            Vec::new()
        });
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let jobs: Value = serde_json::from_str(&instance.run(&["cron", "list", "--json"]).stdout).unwrap();
        let run = |(_, arguments): &Asked| {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let mut jobs = jobs.as_array().unwrap().iter();
            let job = jobs.find(|job| job["payload"]["command"] == arguments["command"]);
            let id =
                job.unwrap_or_else(|| panic!("no job for {arguments} in {jobs:?}"))["id"].as_str().unwrap();
            let ran = instance.run(&["cron", "run", id]);
            // What was refused or failed is told on standard error, behind the log.
            let at = ["refused: ", "error: "]
                .iter()
                .filter_map(|word| ran.stderr.find(&format!("\n{word}")).map(|at| at + 1 + word.len()));
            let told = at.min().map_or_else(|| ran.stdout.clone(), |at| ran.stderr[at..].to_owned());
            Told { session: Some(format!("cron:{id}")), ..Told::new(&told) }
        };
        calls.iter().map(run).collect()
    }
}

impl EntryPoint for Turn {
    fn origin(&self) -> &'static str {
        if self.1 == 0 { self.began() } else { "subagent" }
    }

    fn depth(&self) -> u64 {
        self.1
    }

    fn began(&self) -> &'static str {
        match self.0 {
            Spark::Chat => "http",
            Spark::Job => "cron",
            Spark::Beat => "heartbeat",
        }
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let mut replies = script(self.1, calls);
        let is_beat = matches!(self.0, Spark::Beat);
        if is_beat {
            fs::write(instance.workspace().join("HEARTBEAT.md"), "- go\n").unwrap();
            // It beats a second after the start, whether or not a client listens: its model thinks a little longer.
            replies = replies.replacen('{', r#"{"delay_ms": 5000, "#, 1);
        }
        fs::write(instance.dir().join("replies.jsonl"), replies).unwrap();
        let beats = if is_beat { "true" } else { "false" };
        within(instance, &[("PICOCLAW_HEARTBEAT_ENABLED", beats)], |gateway| {
            let results = results(gateway, self.origin());
            match self.0 {
                Spark::Beat => {}
                Spark::Job => drop(add(instance, &["-m", "go"])),
                Spark::Chat => {
                    let asked = json!({"model": "main", "messages": [{"role": "user", "content": "go"}]});
                    let answer = gateway.post("/v1/chat/completions", &asked);
                    assert_eq!(answer.status, 200, "{answer:?}");
                }
            }
            results.take(calls.len()).map(|event| Told::new(event["text"].as_str().unwrap())).collect()
        })
    }
}

impl EntryPoint for Commands {
    fn origin(&self) -> &'static str {
        "cron"
    }

    fn takes(&self, (tool, arguments): &Asked) -> bool {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        // A job is a line; where it works and how long it takes is not its to say. An empty one is none.
        let line = arguments["command"].as_str().unwrap_or_default();
        tool == "exec" && arguments == json!({"command": line}) && !line.is_empty()
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        within(instance, &[], |gateway| {
            let results = results(gateway, self.origin());
            let line = |(_, arguments): &Asked| {
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                format!("cron:{}", add(instance, &["--command", arguments["command"].as_str().unwrap()]))
            };
            let sessions: Vec<String> = calls.iter().map(line).collect();
            let told: Vec<Value> = results.take(calls.len()).collect();
            let find = |session: String| {
                let event = told.iter().find(|event| event["session"] == session.as_str());
                let event = event.unwrap_or_else(|| panic!("nothing of {session} in {told:?}"));
                Told { session: Some(session), ..Told::new(event["text"].as_str().unwrap()) }
            };
            sessions.into_iter().map(find).collect()
        })
    }
}

/// Does this beside a gateway that runs, and ends it.
fn within(
    instance: &TestInstance,
    variables: &[(&str, &str)],
    calls: impl FnOnce(&Gateway) -> Vec<Told>,
) -> Vec<Told> {
    // The gateway writes a PID file of its own in place of what lies there, which is put back afterwards.
    let pid_file = instance.home().join(".picoclaw.pid");
    let before = fs::read(&pid_file).ok();
    let gateway = Gateway::with(instance, &[], variables);
    let told = calls(&gateway);
    assert!(told.iter().all(|told| !told.text.contains(&gateway.token)), "nobody is told the token");
    let (status, ..) = gateway.end();
    assert!(status.success());
    if let Some(before) = before {
        fs::write(pid_file, before).unwrap();
    }
    told
}

/// What came of calls, from now on, as watchers of the gateway are told.
fn results(gateway: &Gateway, origin: &'static str) -> impl Iterator<Item = Value> {
    let mut lines = gateway.open("GET /api/events", "");
    // With the first line of its own the stream stands.
    assert!(lines.any(|line| line.starts_with(": picoclaw")));
    let events = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    events.filter(move |event| event["type"] == "tool_result" && event["origin"] == origin)
}

/// A job for the next second.
fn add(instance: &TestInstance, what: &[&str]) -> String {
    let ran = instance.run(&[&["cron", "add", "-n", "row", "--at", "1"], what].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.rsplit_once('(').and_then(|(_, id)| id.trim_end().strip_suffix(')'));
    id.unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}
