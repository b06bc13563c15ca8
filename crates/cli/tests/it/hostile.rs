//! Runs `spec/hostile.toml` through every entry point: the same verdict, the same reply, the same records.
//!
//! An entry point is one more column: it says how a row is called through it, and gives back what the caller was told.

pub(crate) mod agent;
pub(crate) mod entry_point;
pub(crate) mod gateway;
pub(crate) mod mcp;
pub(crate) mod tool;

use crate::test_instance::TestInstance;
use agent::{Agent, Delegated};
use entry_point::{Asked, Below, EntryPoint, Told, pairs};
use gateway::{Commands, CommandsBelow, Spark, Turn};
use mcp::{Mcp, McpHttp};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use tool::Tool;

/// Every way in. What a new entry point must show is that it can stand here.
const ENTRY_POINTS: &[&dyn EntryPoint] = &[
    &Tool,
    &Agent(0),
    &Agent(1),
    &Agent(2),
    &Agent(3),
    &Delegated,
    &Below(&Agent(0)),
    &Mcp,
    &McpHttp,
    &Turn(Spark::Chat, 0),
    &Turn(Spark::Chat, 1),
    &Turn(Spark::Job, 0),
    &Turn(Spark::Job, 1),
    &Turn(Spark::Beat, 0),
    &Turn(Spark::Beat, 1),
    &Below(&Turn(Spark::Chat, 0)),
    &Below(&Turn(Spark::Job, 0)),
    &Below(&Turn(Spark::Beat, 0)),
    &Commands,
    &CommandsBelow,
];

/// One row of the table.
#[derive(Clone)]
struct Row {
    why: String,
    tool: String,
    arguments: String,
    code: String,
    begins: String,
    /// The same below `coder`, where that differs.
    below: Option<(String, String)>,
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
            below: row.get("below").map(|below| (text(&below[0]), text(&below[1]))),
        }
    };
    table["row"].as_array().unwrap().iter().map(row).collect()
}

/// An instance with everything in it that a hostile call could want.
fn with_config_file() -> TestInstance {
    let instance = TestInstance::with_config(
        r#"{
          "version": 3,
          "heartbeat": {"enabled": false},
          "agents": {
            "defaults": {"model_name": "s", "max_tool_iterations": 1000},
            "agents": [{"id": "main", "default": true, "tools": {"disabled": ["edit_file"]}}, {"id": "coder", "tools": {"disabled": ["append_file"]}, "subagents": {"allow_agents": ["main"]}}]
          },
          "model_list": [{"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"}]
        }"#,
    );
    // Makes the rooms.
    assert_eq!(instance.run(&["onboard"]).code, 0);
    let (home, ws) = (instance.home(), instance.workspace());
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
    instance
}

/// What must be as it was, whatever was called.
fn untouched(instance: &TestInstance) -> Vec<(&'static str, String)> {
    let files = ["config.json", ".security.yml", ".picoclaw.pid", "workspace-coder/secret.txt"];
    files.map(|file| (file, fs::read_to_string(instance.home().join(file)).unwrap())).to_vec()
}

/// A record without what differs between two runs of the same call.
fn essence(record: &Value, place: &str) -> Value {
    let mut record: Value = serde_json::from_str(&record.to_string().replace(place, "{dir}")).unwrap();
    let fields = record.as_object_mut().unwrap();
    for own in
        ["seq", "time", "prev", "hash", "duration_us", "origin", "session", "depth", "lineage", "principal"]
    {
        fields.remove(own).unwrap_or_else(|| panic!("no `{own}` in {fields:?}"));
    }
    record
}

/// What came of the rows through one entry point: who was told what, with which records. Nothing where a row cannot be spelled.
type Column = Vec<Option<(String, Vec<Value>)>>;

#[test]
fn every_porch_gives_the_same_answer_to_the_same_call() {
    let rows = rows();
    let hostile = rows.iter().filter(|row| !row.code.is_empty()).count();
    assert!(hostile >= 40, "only {hostile} hostile rows");
    // Each in a instance of its own, beside the others.
    let columns: Vec<Column> = std::thread::scope(|scope| {
        let begin = |entry_point: &&'static dyn EntryPoint| {
            let (entry_point, rows) = (*entry_point, &rows);
            scope.spawn(move || column(entry_point, rows))
        };
        let running: Vec<_> = ENTRY_POINTS.iter().map(begin).collect();
        running.into_iter().map(|column| column.join().unwrap()).collect()
    });
    for (entry_point, column) in ENTRY_POINTS.iter().zip(&columns) {
        for ((row, first), cell) in rows.iter().zip(&columns[0]).zip(column) {
            let Some((told, pair)) = cell else { continue };
            let why = format!("{entry_point:?}: {}", row.why);
            if let Some((code, begins)) =
                row.below.clone().filter(|_| entry_point.lineage().contains(&"coder"))
            {
                let below = Row { code, begins, ..row.clone() };
                assert_eq!(misfit(&below, told, pair), None, "{why}");
                continue;
            }
            assert_eq!(misfit(row, told, pair), None, "{why}");
            let (first_told, first_pair) = first.as_ref().unwrap();
            assert_eq!(first_pair, pair, "{why}: recorded as by {:?}", ENTRY_POINTS[0]);
            assert_eq!(
                first_told.lines().next(),
                told.lines().next(),
                "{why}: told as by {:?}",
                ENTRY_POINTS[0]
            );
        }
    }
}

fn column(entry_point: &dyn EntryPoint, rows: &[Row]) -> Column {
    let instance = with_config_file();
    let place = instance.dir().to_str().unwrap().to_owned();
    let fill = |text: &str| {
        text.replace("{ws}", instance.workspace().to_str().unwrap())
            .replace("{home}", instance.home().to_str().unwrap())
            .replace("{dir}", &place)
    };
    let asked = |row: &Row| -> Asked { (row.tool.clone(), fill(&row.arguments)) };
    let taken: Vec<Option<Asked>> =
        rows.iter().map(|row| Some(asked(row)).filter(|call| entry_point.takes(call))).collect();
    let calls: Vec<Asked> = taken.iter().flatten().cloned().collect();
    assert!(calls.len() >= 15, "{entry_point:?} takes {} rows", calls.len());
    entry_point.prepare(&instance, &calls);
    let (before, earlier) = (untouched(&instance), instance.records().len());
    let told = entry_point.call(&instance, &calls);
    assert_eq!(told.len(), calls.len(), "{entry_point:?}: every call is answered");
    assert_eq!(untouched(&instance), before, "{entry_point:?}");
    let records = instance.records().split_off(earlier);
    let (starts, made): (Vec<&Value>, Vec<&Value>) =
        records.iter().partition(|record| record["depth"].as_u64() < Some(entry_point.depth()));
    // What started the caller is recorded as well, further up.
    let starters = ["subagent", "delegate"];
    assert!(
        starts.iter().all(|one| starters.iter().any(|tool| one["tool"] == *tool)),
        "{entry_point:?}: {starts:?}"
    );
    assert!(
        starts
            .iter()
            .all(|one| one["origin"] == if one["depth"] == 0 { entry_point.began() } else { "subagent" })
    );
    assert_eq!(starts.len() as u64, 2 * entry_point.starts(), "{entry_point:?}");
    assert!(made.iter().all(|record| record["origin"] == entry_point.origin()), "{entry_point:?}: {made:?}");
    let lineage = Some(entry_point.lineage()).filter(|above| !above.is_empty());
    assert!(made.iter().all(|record| record["lineage"] == json!(lineage)), "{entry_point:?}: {made:?}");
    assert_eq!(made.len(), 2 * calls.len(), "{entry_point:?}: each call has two records");
    let pairs = pairs(entry_point, &records, &told);
    let mut cells = told.iter().zip(pairs).map(|(Told { text, .. }, pair)| {
        let pair = pair.iter().map(|record| essence(record, &place)).collect();
        (text.replace(&place, "{dir}"), pair)
    });
    taken.iter().map(|taken| taken.as_ref().and_then(|_| cells.next())).collect()
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
