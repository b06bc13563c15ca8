//! Runs `spec/verdicts.toml`: the verdict for each path location.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it cannot go on")]

use picoclaw_policy::config::{Config, OnBlock};
use picoclaw_policy::shell::guard::Guard;
use picoclaw_policy::{
    Access, AgentId, AgentRules, CleanPath, FileKind, Intent, Link, LinkOwner, Origin, PathLocation,
    PathRules, Policy, Protected, Question, Reach, Route, Subject, Target, Verdict, Zones,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const WORKSPACE: &str = "/home/u/.picoclaw/workspace";

#[test]
fn the_desk_answers_as_the_table_says() {
    let table: toml::Table = include_str!("../../../spec/verdicts.toml").parse().unwrap();
    let rows = table["row"].as_array().unwrap();
    assert!(rows.len() >= 30);
    for row in rows {
        check(row.as_table().unwrap());
    }
}

#[test]
fn a_longer_list_of_disabled_tools_never_offers_more() {
    let mut policy = policy(&toml::Table::new());
    assert!(policy.check_tool("exec", &subject()).is_ok());
    policy.agents.get_mut(&AgentId::main()).unwrap().disabled =
        ["exec", "mcp_files_*"].map(str::to_owned).into();
    for (tool, offered) in
        [("exec", false), ("mcp_files_read", false), ("mcp_file", true), ("read_file", true)]
    {
        assert_eq!(policy.check_tool(tool, &subject()).is_ok(), offered, "{tool}");
    }
}

#[test]
fn an_agent_that_is_not_configured_may_nothing() {
    let policy = policy(&toml::Table::new());
    let stranger = Subject { agent: AgentId::parse("stranger").unwrap(), ..subject() };
    let asked = clean(WORKSPACE);
    assert_eq!(policy.route(Access::Read, &asked, &stranger), Route::Closed(PathLocation::NotLookedUp));
    let intent = Intent::Read(Target {
        asked,
        location: PathLocation::Workspace,
        kind: FileKind::Regular,
        resolved: None,
    });
    assert!(matches!(policy.judge(&intent, &stranger), Verdict::Deny(_)));
}

fn check(row: &toml::Table) {
    let why = text(row, "why").unwrap();
    let policy = policy(row);
    let asked = CleanPath::new(Path::new(text(row, "path").unwrap()), &clean(WORKSPACE)).unwrap();
    let access = match text(row, "access").unwrap() {
        "read" => Access::Read,
        "list" => Access::List,
        _ => Access::Write,
    };
    let route = policy.route(access, &asked, &subject());
    if let Some(want) = text(row, "route") {
        let got = match &route {
            Route::Workspace(_) => "workspace",
            Route::Host => "host",
            Route::Closed(_) => "closed",
        };
        assert_eq!(got, want, "{why}: route of `{asked}`");
    }
    let location = match (text(row, "landing"), &route) {
        (Some("escaped"), _) => PathLocation::Escaped,
        (Some("protected"), _) => PathLocation::Protected,
        (Some("workspace"), _) | (None, Route::Workspace(_)) => PathLocation::Workspace,
        (None, Route::Closed(location)) => location.clone(),
        (None, Route::Host) => {
            PathLocation::Host { resolved: PathBuf::from(text(row, "resolved").unwrap()), links: links(row) }
        }
        (Some(other), _) => panic!("{why}: no landing `{other}`"),
    };
    let kind = match text(row, "kind") {
        Some("special") => FileKind::Special,
        Some("missing") => FileKind::Missing,
        _ => FileKind::Regular,
    };
    let resolved = text(row, "resolved").map(PathBuf::from);
    let target = Target { asked, location, kind, resolved };
    let intent = match access {
        Access::Read => Intent::Read(target),
        Access::List => Intent::List(target),
        Access::Write => Intent::Write(target),
    };
    match (policy.judge(&intent, &subject()), text(row, "verdict").unwrap()) {
        (Verdict::Allow(_), "allow") => {}
        (Verdict::Ask(Question { refusal: no, .. }), "ask") | (Verdict::Deny(no), "deny") => {
            assert_eq!(Some(no.code.as_str()), text(row, "code"), "{why}");
            assert!(!no.hint.is_empty(), "{why}: a no without a hint is no use");
            if let Some(sentence) = text(row, "sentence") {
                assert_eq!(no.sentence, sentence, "{why}");
            }
        }
        (got, want) => panic!("{why}: wanted {want}, got {got:?}"),
    }
}

fn policy(row: &toml::Table) -> Policy {
    let has = |name: &str| list(row, "settings").iter().any(|s| s == name);
    let zones = Zones {
        workspace: vec![clean(WORKSPACE)],
        protected: Protected {
            trees: vec![clean("/home/u/.picoclaw"), clean("/home/u/.picoclaw/workspace-coder")],
            readable: vec![clean("/home/u/.picoclaw/skills")],
        },
    };
    let open = Reach::Anywhere("agents.defaults.restrict_to_workspace");
    Policy {
        agents: BTreeMap::from([(AgentId::main(), AgentRules { zones, disabled: BTreeSet::new() })]),
        read_rules: PathRules::compile(&list(row, "read_rules")).unwrap(),
        write_rules: PathRules::compile(&list(row, "write_rules")).unwrap(),
        reads: if has("unrestricted") || has("read_outside") { open } else { Reach::Workspace },
        writes: if has("unrestricted") { open } else { Reach::Workspace },
        shared: vec![clean("/tmp")],
        disabled: BTreeMap::new(),
        guard: Guard::compile(&Config::default().tools.exec).unwrap(),
        ask: Vec::new(),
        on_block: OnBlock::Deny,
        hosts: Default::default(),
        spawning: Default::default(),
        protect: Default::default(),
    }
}

fn links(row: &toml::Table) -> Vec<Link> {
    list(row, "links")
        .iter()
        .map(|text| {
            let (at, owner) = text.split_once('@').unwrap();
            let owner = if owner == "system" { LinkOwner::System } else { LinkOwner::Anyone };
            Link { at: PathBuf::from(at), owner }
        })
        .collect()
}

fn list(row: &toml::Table, key: &str) -> Vec<String> {
    let values = row.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    values.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

fn text<'a>(row: &'a toml::Table, key: &str) -> Option<&'a str> {
    row.get(key).and_then(toml::Value::as_str)
}

fn clean(path: &str) -> CleanPath {
    CleanPath::absolute(Path::new(path)).unwrap()
}

fn subject() -> Subject {
    Subject::root(Origin::Tool, AgentId::main(), "test")
}
