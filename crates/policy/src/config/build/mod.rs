//! From a checked tree to [`Config`].
//!
//! Every key is read through a [`View`], which supplies the default from the schema. Relations
//! between keys are checked here: references by name, rules that replace each other.

mod agents;
mod extensions;
mod isolation;
mod legacy;
mod models;
mod tools;
mod values;

use crate::config::check::Checker;
use crate::config::config::Config;
use crate::config::document::{Node, Origin, Value};
use crate::config::fault::Problem;
use crate::config::gateway::{GatewayConfig, HeartbeatConfig, LedgerAnchor, LogLevel};
use crate::config::sources::Sources;
use values::View;

/// Builds the configuration of a tree. Inconsistencies are faults of the checker.
pub(crate) fn build(root: &Node, secrets: Vec<String>, checker: &mut Checker<'_>) -> Config {
    let view = View::root(root);
    let defaults = view.section("agents").section("defaults");
    let (agents, default_agent) = agents::agents(&view, checker);
    agents::known_tools(&view.section("tools"), "ask", "tools.ask", checker);
    let models = models::models(&view, checker);
    Config {
        agents,
        default_agent,
        restrict_to_workspace: defaults.flag("restrict_to_workspace"),
        allow_read_outside_workspace: defaults.flag("allow_read_outside_workspace"),
        turns: models::turns(&defaults, &models),
        models,
        tools: tools::tools(&view.section("tools")),
        mcp: extensions::mcp(&view.section("tools").section("mcp"), checker),
        isolation: isolation::isolation(&view.section("isolation"), checker),
        hooks: extensions::hooks(&view.section("hooks"), checker),
        heartbeat: heartbeat(&view.section("heartbeat")),
        gateway: gateway(&view.section("gateway")),
        ledger_anchor: ledger_anchor(&view.section("ledger").section("anchor"), checker),
        log_level: log_level(&view.section("gateway")),
        secrets,
    }
}

/// The configuration without any layer.
pub(crate) fn defaults() -> Config {
    let sources = Sources { file: "", text: None, secrets: "" };
    let mut checker = Checker::new(&sources, &[], None);
    build(&Node::new(Value::Map(Vec::new()), Origin::Default), Vec::new(), &mut checker)
}

fn gateway(view: &View<'_>) -> GatewayConfig {
    GatewayConfig {
        host: view.text("host").map(|host| host.trim().to_owned()).unwrap_or_default(),
        port: u16::try_from(view.count("port")).unwrap_or_default(),
        hot_reload: view.flag("hot_reload"),
        token: view.secret("token"),
        allowed_hosts: view.texts("allowed_hosts"),
    }
}

fn heartbeat(view: &View<'_>) -> HeartbeatConfig {
    HeartbeatConfig { enabled: view.flag("enabled"), interval_minutes: view.count_or("interval", 30).max(5) }
}

fn ledger_anchor(view: &View<'_>, checker: &mut Checker<'_>) -> Option<LedgerAnchor> {
    let (file, command) = (view.path("file"), view.texts("command"));
    if file.is_some() && !command.is_empty() {
        let problem = Problem::Refused("it names a file and a command".to_owned());
        checker.report(&view.origin("command"), "ledger.anchor", problem, "one of the two");
    }
    match command.is_empty() {
        true => file.map(LedgerAnchor::File),
        false => Some(LedgerAnchor::Command(command)),
    }
}

fn log_level(view: &View<'_>) -> Option<LogLevel> {
    match view.text("log_level")? {
        "debug" => Some(LogLevel::Debug),
        "info" => Some(LogLevel::Info),
        "warn" | "warning" => Some(LogLevel::Warn),
        "error" => Some(LogLevel::Error),
        _ => Some(LogLevel::Fatal),
    }
}
