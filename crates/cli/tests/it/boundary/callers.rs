//! The callers: what the policy check tells each, and what their commands can reach.

use super::row::Row;
use super::site::{Isolation, Site};
use crate::hostile::agent::Agent;
use crate::hostile::entry_point::{Asked, EntryPoint, pairs};
use crate::hostile::gateway::{Commands, Spark, Turn};
use crate::hostile::mcp::Mcp;
use crate::hostile::tool::Tool;
use serde_json::{Value, json};

pub(super) const CALLERS: &[(&str, &dyn EntryPoint)] = &[
    ("the agent of a turn", &Agent(0)),
    ("… its subagent", &Agent(1)),
    ("`picoclaw tool`", &Tool),
    ("a client of `picoclaw mcp serve`", &Mcp),
    ("a chat over HTTP", &Turn(Spark::Chat, 0)),
    ("… its subagent", &Turn(Spark::Chat, 1)),
    ("a job that is a message", &Turn(Spark::Job, 0)),
    ("… its subagent", &Turn(Spark::Job, 1)),
    ("a job that is a command", &Commands),
    ("the heartbeat", &Turn(Spark::Beat, 0)),
    ("… its subagent", &Turn(Spark::Beat, 1)),
];

/// Who is asked in these calls, and how a no begins.
const FILES: &str = "access denied: path is outside the workspace";
const GUARD: &str = "Command blocked by safety guard (dangerous pattern detected)";
const HOOK: &str = "Tool execution denied by hook: seen";

/// Everything through one entry point.
pub(super) fn observed(name: &'static str, entry_point: &dyn EntryPoint, isolation: Isolation) -> Row {
    let mut site = Site::new(isolation, "s", &["command"]);
    let (dir, home) = (site.instance.dir(), site.instance.home());
    let read = |path: &std::path::Path| ("read_file", json!({"path": path}));
    let exec = |command: &str| ("exec", json!({"command": command}));
    let own = site.instance.workspace().join("own.txt");
    let table: Vec<(&str, (&str, Value), &str)> = vec![
        ("files", read(&own), "of its own"),
        ("files", read(&dir.join("diary")), FILES),
        ("files", read(&home.join("config.json")), FILES),
        ("files", read(&home.join("workspace-coder/notes")), FILES),
        ("guard", exec("sudo id"), GUARD),
        ("hooks", exec("echo hooked"), HOOK),
        ("hooks", read(&site.instance.workspace().join("hooked.txt")), HOOK),
        ("", exec("python3 probe.py command"), ""),
    ];
    let asked = |(tool, arguments): &(&str, Value)| -> Asked { ((*tool).to_owned(), arguments.to_string()) };
    let taken: Vec<_> = table.iter().filter(|(_, call, _)| entry_point.takes(&asked(call))).collect();
    let calls: Vec<Asked> = taken.iter().map(|(_, call, _)| asked(call)).collect();
    let told = entry_point.call(&site.instance, &calls);
    assert_eq!(told.len(), calls.len(), "{name}: every call is answered");
    let mut row = Row::new(name);
    for ((layer, _, begins), told) in taken.iter().zip(&told).filter(|((layer, ..), _)| !layer.is_empty()) {
        row.see(layer, !told.text.starts_with(begins));
    }
    let pairs = pairs(entry_point, &site.instance.records(), &told);
    let is_whole = |(pair, (tool, _)): (&Vec<Value>, &Asked)| {
        let phases: Vec<_> = pair.iter().map(|one| (&one["phase"], &one["tool"], &one["origin"])).collect();
        let (tool, origin) = (json!(tool), json!(entry_point.origin()));
        phases == [(&json!("decided"), &tool, &origin), (&json!("finished"), &tool, &origin)]
    };
    row.see("ledger", !pairs.iter().zip(&calls).all(is_whole));
    let workspace = site.instance.workspace();
    row.see_all(site.reached("command", &workspace));
    row
}
