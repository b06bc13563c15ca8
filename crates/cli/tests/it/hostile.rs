//! Runs `spec/hostile.toml` through every porch: the same verdict, the same reply, the same records.
//!
//! A porch is one more column: it says how a row is called through it, and gives back what the caller was told.

use crate::gateway::client::Gateway;
use crate::house::House;
use crate::mcp::wire::{Wire, text};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A way in.
pub(crate) trait Porch: Debug {
    /// As the ledger names it.
    fn origin(&self) -> &'static str;

    /// How many spawns lie between the caller and a person.
    fn depth(&self) -> u64 {
        0
    }

    /// Makes the calls in this house, in order; what each caller was told.
    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String>;
}

/// One call a process.
#[derive(Debug)]
struct Tool;

impl Porch for Tool {
    fn origin(&self) -> &'static str {
        "tool"
    }

    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String> {
        let one = |(tool, arguments): &(String, String)| {
            let ran = house.run(&["tool", tool, arguments]);
            // A tool that is not there is a mistake on the command line; it is told where mistakes are.
            let told = if ran.code == 2 { ran.stderr.split("error: ").last().unwrap() } else { &ran.stdout };
            told.trim_end().to_owned()
        };
        calls.iter().map(one).collect()
    }
}

/// A model that makes every call in one turn.
#[derive(Debug)]
struct Agent;

impl Porch for Agent {
    fn origin(&self) -> &'static str {
        "cli"
    }

    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String> {
        let reply = |(tool, arguments): &(String, String)| {
            json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
        };
        let mut replies: Vec<String> = calls.iter().map(reply).collect();
        replies.push(json!({"content": "done"}).to_string());
        fs::write(house.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
        let ran = house.run(&["agent", "--json", "-m", "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let results = lines.filter(|line| line["type"] == "tool_result");
        results.map(|line| line["text"].as_str().unwrap().trim_end().to_owned()).collect()
    }
}

/// A subagent so many spawns down, which makes every call in its one turn.
#[derive(Debug)]
struct Subagent(u64);

impl Porch for Subagent {
    fn origin(&self) -> &'static str {
        "subagent"
    }

    fn depth(&self) -> u64 {
        self.0
    }

    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String> {
        let start =
            json!({"tool_calls": [{"name": "subagent", "arguments": {"task": "go further"}}]}).to_string();
        let reply = |(tool, arguments): &(String, String)| {
            json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
        };
        let mut replies = vec![start; usize::try_from(self.0).unwrap()];
        replies.extend(calls.iter().map(reply));
        // Everybody from the bottom up has a last word.
        replies.extend((0..=self.0).map(|depth| json!({"content": format!("done {depth}")}).to_string()));
        fs::write(house.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
        let ran = house.run(&["agent", "--json", "-m", "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let results = lines.filter(|line| line["type"] == "tool_result" && line["depth"] == self.0);
        results.map(|line| line["text"].as_str().unwrap().trim_end().to_owned()).collect()
    }
}

/// A chat with the gateway, whose model makes every call in one turn.
#[derive(Debug)]
struct Http;

impl Porch for Http {
    fn origin(&self) -> &'static str {
        "http"
    }

    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String> {
        let reply = |(tool, arguments): &(String, String)| {
            json!({"tool_calls": [{"name": tool, "arguments": arguments}]}).to_string()
        };
        let mut replies: Vec<String> = calls.iter().map(reply).collect();
        replies.push(json!({"content": "done"}).to_string());
        fs::write(house.dir().join("replies.jsonl"), replies.join("\n")).unwrap();
        // The gateway writes a PID file of its own in place of the bait, which is put back afterwards.
        let bait = fs::read(house.home().join(".picoclaw.pid")).unwrap();
        let gateway = Gateway::new(house);
        let lines = gateway.open("GET /api/events", "");
        let results =
            lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
        let results = results.filter(|event| event["type"] == "tool_result");
        let asked = json!({"model": "main", "messages": [{"role": "user", "content": "go"}]});
        let answer = gateway.post("/v1/chat/completions", &asked);
        assert_eq!(answer.status, 200, "{answer:?}");
        let told =
            results.take(calls.len()).map(|event| event["text"].as_str().unwrap().trim_end().to_owned());
        let told = told.collect();
        let (status, ..) = gateway.end();
        assert!(status.success());
        fs::write(house.home().join(".picoclaw.pid"), bait).unwrap();
        told
    }
}

/// A client of the MCP server, with a message for each call.
#[derive(Debug)]
struct Mcp;

impl Porch for Mcp {
    fn origin(&self) -> &'static str {
        "mcp"
    }

    fn call(&self, house: &House, calls: &[(String, String)]) -> Vec<String> {
        let mut wire = Wire::greeted(house, &[], &json!({}));
        let one = |(tool, arguments): &(String, String)| {
            let result = wire.call(tool, serde_json::from_str(arguments).unwrap());
            text(&result).trim_end().to_owned()
        };
        calls.iter().map(one).collect()
    }
}

/// Every way in. What a new porch must show is that it can stand here.
const PORCHES: &[&dyn Porch] = &[&Tool, &Agent, &Http, &Mcp, &Subagent(1), &Subagent(2), &Subagent(3)];

/// One row of the table.
struct Row {
    why: String,
    tool: String,
    arguments: String,
    code: String,
    begins: String,
}

fn rows() -> Vec<Row> {
    let table: toml::Table = include_str!("../../../../spec/hostile.toml").parse().unwrap();
    let row = |row: &toml::Value| {
        let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
        Row {
            why: text(&row["why"]),
            tool: text(&row["call"][0]),
            arguments: text(&row["call"][1]),
            code: text(&row["code"]),
            begins: text(&row["begins"]),
        }
    };
    table["row"].as_array().unwrap().iter().map(row).collect()
}

/// An instance with everything in it that a hostile call could want.
fn furnished() -> House {
    let house = House::with_config(
        r#"{
          "version": 3,
          "heartbeat": {"enabled": false},
          "agents": {
            "defaults": {"model_name": "s", "max_tool_iterations": 1000},
            "agents": [{"id": "main", "default": true, "tools": {"disabled": ["edit_file"]}}, {"id": "coder"}]
          },
          "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
        }"#,
    );
    // Makes the rooms.
    assert_eq!(house.run(&["onboard"]).code, 0);
    let (home, ws) = (house.home(), house.workspace());
    fs::create_dir_all(ws.join("src")).unwrap();
    fs::write(ws.join("notes.txt"), "plain notes\n").unwrap();
    fs::write(home.join(".security.yml"), "web: {}\n").unwrap();
    fs::set_permissions(home.join(".security.yml"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(home.join(".picoclaw.pid"), r#"{"pid": 1, "token": "t0ken-t0ken"}"#).unwrap();
    fs::create_dir_all(home.join("state/sessions/main")).unwrap();
    fs::write(home.join("state/sessions/main/other.jsonl"), "").unwrap();
    fs::create_dir_all(home.join("workspace-coder")).unwrap();
    fs::write(home.join("workspace-coder/secret.txt"), "words of another\n").unwrap();
    symlink("/etc/passwd", ws.join("link-passwd")).unwrap();
    symlink("../config.json", ws.join("link-config")).unwrap();
    symlink(&home, ws.join("link-home")).unwrap();
    symlink(home.join("workspace-coder"), ws.join("link-coder")).unwrap();
    fs::hard_link(home.join(".security.yml"), ws.join("hard")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, ws.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    house
}

/// What must be as it was, whatever was called.
fn untouched(house: &House) -> Vec<(&'static str, String)> {
    let files = ["config.json", ".security.yml", ".picoclaw.pid", "workspace-coder/secret.txt"];
    files.map(|file| (file, fs::read_to_string(house.home().join(file)).unwrap())).to_vec()
}

/// A record without what differs between two runs of the same call.
fn essence(record: &Value, place: &str) -> Value {
    let mut record: Value = serde_json::from_str(&record.to_string().replace(place, "{dir}")).unwrap();
    let fields = record.as_object_mut().unwrap();
    for own in ["seq", "time", "prev", "hash", "duration_us", "origin", "session", "depth"] {
        fields.remove(own).unwrap_or_else(|| panic!("no `{own}` in {fields:?}"));
    }
    record
}

#[test]
fn every_porch_gives_the_same_answer_to_the_same_call() {
    let rows = rows();
    let hostile = rows.iter().filter(|row| !row.code.is_empty()).count();
    assert!(hostile >= 40, "only {hostile} hostile rows");
    let (mut columns, mut misfits) = (Vec::new(), Vec::new());
    for porch in PORCHES {
        let house = furnished();
        let place = house.dir().to_str().unwrap().to_owned();
        let fill = |text: &str| {
            text.replace("{ws}", house.workspace().to_str().unwrap())
                .replace("{home}", house.home().to_str().unwrap())
                .replace("{dir}", &place)
        };
        let calls: Vec<_> = rows.iter().map(|row| (row.tool.clone(), fill(&row.arguments))).collect();
        let before = untouched(&house);
        let told = porch.call(&house, &calls);
        assert_eq!(told.len(), rows.len(), "{porch:?}: every call is answered");
        assert_eq!(untouched(&house), before, "{porch:?}");
        let mut records = house.records();
        // What started the caller is recorded as well, further up.
        let starts = records.iter().filter(|record| record["depth"].as_u64() < Some(porch.depth()));
        assert!(starts.clone().all(|record| record["tool"] == "subagent"), "{porch:?}");
        assert_eq!(starts.count() as u64, 2 * porch.depth(), "{porch:?}");
        records.retain(|record| record["depth"] == porch.depth());
        assert!(records.iter().all(|record| record["origin"] == porch.origin()), "{porch:?}");
        assert_eq!(records.len(), 2 * rows.len(), "{porch:?}: each call has two records");
        let told: Vec<String> = told.iter().map(|text| text.replace(&place, "{dir}")).collect();
        let records: Vec<Value> = records.iter().map(|record| essence(record, &place)).collect();
        for ((row, told), pair) in rows.iter().zip(&told).zip(records.chunks(2)) {
            misfits.extend(misfit(row, told, pair).map(|what| format!("{porch:?}: {}: {what}", row.why)));
        }
        columns.push((told, records));
    }
    assert!(misfits.is_empty(), "rows do not hold:\n{}", misfits.join("\n"));
    let (first, others) = columns.split_first().unwrap();
    for (porch, other) in PORCHES[1..].iter().zip(others) {
        for (at, row) in rows.iter().enumerate() {
            let why = format!("{porch:?} and {:?} differ: {}", PORCHES[0], row.why);
            assert_eq!(first.1[2 * at..2 * at + 2], other.1[2 * at..2 * at + 2], "{why}");
            assert_eq!(first.0[at].lines().next(), other.0[at].lines().next(), "{why}");
        }
    }
}

/// In what a row's answer is not as the table says.
fn misfit(row: &Row, told: &str, pair: &[Value]) -> Option<String> {
    if !told.starts_with(&row.begins) {
        return Some(format!("it was told {told:?}"));
    }
    let hidden = ["words of another", "root:x:0", "t0ken-t0ken"];
    if hidden.iter().any(|secret| told.contains(secret)) {
        return Some(format!("it was told what it must not know: {told:?}"));
    }
    let (verdict, code) = match row.code.as_str() {
        "" => ("allow", Value::Null),
        code => ("deny", Value::from(code)),
    };
    pair.iter().zip(["decided", "finished"]).find_map(|(record, phase)| {
        let fits = record["phase"] == phase
            && record["tool"] == row.tool
            && record["verdict"] == verdict
            && record["code"] == code;
        (!fits).then(|| format!("{phase} is recorded as {record}"))
    })
}
