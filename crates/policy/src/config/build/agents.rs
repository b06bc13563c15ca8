//! `agents`: names, workspaces, and which agent may start which.

use super::values::View;
use crate::config::agents::AgentConfig;
use crate::config::check::Checker;
use crate::config::fault::Problem;
use crate::config::schema::{FOREIGN_TOOLS, SERVED_TOOLS, TOOLS};
use crate::config::suggest::nearest;
use crate::subject::AgentId;

/// Every agent, and the default one.
pub(super) fn agents(root: &View<'_>, checker: &mut Checker<'_>) -> (Vec<AgentConfig>, AgentId) {
    let section = root.section("agents");
    let mut agents: Vec<AgentConfig> = Vec::new();
    let mut default: Option<AgentId> = None;
    let items = section.items("agents");
    for (index, item) in items.iter().enumerate() {
        let key = format!("agents.agents[{index}]");
        let Some(id) = id(item, &key, checker) else { continue };
        if agents.iter().any(|agent| agent.id == id) {
            let problem = Problem::Refused(format!("a second agent is called `{id}`"));
            checker.report(
                &item.origin("id"),
                &format!("{key}.id"),
                problem,
                "give each agent a name of its own",
            );
            continue;
        }
        if item.flag("default") {
            match &default {
                None => default = Some(id.clone()),
                Some(first) => checker.report_notice(
                    &item.origin("default"),
                    format!("`{first}` is the default agent already; `{id}` is not"),
                ),
            }
        }
        agents.push(agent(id, item, &key, checker));
    }
    if agents.is_empty() {
        agents.push(AgentConfig::plain(AgentId::main()));
    }
    for (index, item) in items.iter().enumerate() {
        known_agents(item, &agents, &format!("agents.agents[{index}]"), checker);
    }
    let default = default.unwrap_or_else(|| agents[0].id.clone());
    apply_default_workspace(&section, &mut agents, &default);
    (agents, default)
}

/// `agents.defaults.workspace` is `main`'s; without a `main`, the default agent's.
fn apply_default_workspace(section: &View<'_>, agents: &mut [AgentConfig], default: &AgentId) {
    let Some(workspace) = section.section("defaults").path("workspace") else { return };
    let main = AgentId::main();
    let heir = if agents.iter().any(|agent| agent.id == main) { &main } else { default };
    if let Some(agent) = agents.iter_mut().find(|agent| agent.id == *heir) {
        agent.workspace.get_or_insert(workspace);
    }
}

fn id(item: &View<'_>, key: &str, checker: &mut Checker<'_>) -> Option<AgentId> {
    let Some(text) = item.text("id") else {
        checker.report(&item.origin("id"), key, Problem::Missing { key: "id" }, "every agent has a name");
        return None;
    };
    let id = AgentId::parse(text);
    if id.is_none() {
        let problem = Problem::Refused(format!("`{text}` is not a valid agent name"));
        let hint = format!("lower-case letters, digits, `_` and `-`: `{}`", normalize_name(text));
        checker.report(&item.origin("id"), &format!("{key}.id"), problem, hint);
    }
    id
}

fn agent(id: AgentId, item: &View<'_>, key: &str, checker: &mut Checker<'_>) -> AgentConfig {
    let tools = item.section("tools");
    known_tools(&tools, "disabled", &format!("{key}.tools.disabled"), checker);
    let subagents = item.section("subagents");
    let (model, model_fallbacks) = model_choice(item);
    let (subagent_model, _) = model_choice(&subagents);
    AgentConfig {
        name: item.owned("name").unwrap_or_else(|| id.to_string()),
        id,
        workspace: item.path("workspace"),
        in_project: false,
        disabled_tools: tools.texts("disabled"),
        allow_agents: subagents.texts("allow_agents"),
        model,
        model_fallbacks,
        subagent_model,
        token_budget: item.count("token_budget"),
    }
}

/// `model`: a name, or a name with fallbacks.
fn model_choice(view: &View<'_>) -> (Option<String>, Vec<String>) {
    let section = view.section("model");
    let name = view.owned("model").or_else(|| section.owned("primary"));
    (name, section.texts("fallbacks"))
}

/// Reports the names in a list of tools that are none.
pub(super) fn known_tools(view: &View<'_>, name: &str, key: &str, checker: &mut Checker<'_>) {
    for (index, node) in view.get(name).map_or(&[][..], |node| node.items()).iter().enumerate() {
        if let Some((problem, hint)) = node.text().and_then(tool_fault) {
            checker.report(&node.origin, &format!("{key}[{index}]"), problem, hint);
        }
    }
}

/// What is wrong with the name of a tool.
fn tool_fault(name: &str) -> Option<(Problem, String)> {
    let known = || TOOLS.iter().chain(SERVED_TOOLS).chain(FOREIGN_TOOLS).copied();
    let fine = match name.strip_suffix('*') {
        Some(beginning) if beginning.contains('*') => false,
        Some(beginning) => beginning.starts_with("mcp_") || known().any(|tool| tool.starts_with(beginning)),
        None => name.starts_with("mcp_") || known().any(|tool| tool == name),
    };
    if fine {
        return None;
    }
    if name.contains('*') {
        let problem = Problem::Refused(format!("`{name}` names no tool"));
        return Some((problem, "`*` stands at the end, for any ending: `mcp_files_*`".to_owned()));
    }
    let near = nearest(name, known()).map_or_else(String::new, |(near, _)| format!("did you mean `{near}`?"));
    Some((Problem::Refused(format!("there is no tool `{name}`")), near))
}

fn known_agents(item: &View<'_>, agents: &[AgentConfig], key: &str, checker: &mut Checker<'_>) {
    let subagents = item.section("subagents");
    let names = subagents.get("allow_agents").map_or(&[][..], |node| node.items());
    for (index, node) in names.iter().enumerate() {
        let Some(name) = node.text() else { continue };
        if name == "*" || agents.iter().any(|agent| agent.id.as_str() == name) {
            continue;
        }
        let near = nearest(name, agents.iter().map(|agent| agent.id.as_str()));
        let hint = near.map_or_else(String::new, |(near, _)| format!("did you mean `{near}`?"));
        let problem = Problem::Refused(format!("there is no agent `{name}`"));
        checker.report(&node.origin, &format!("{key}.subagents.allow_agents[{index}]"), problem, hint);
    }
}

/// The nearest valid name.
fn normalize_name(text: &str) -> String {
    let mut name = String::new();
    for c in text.trim().chars().flat_map(char::to_lowercase) {
        let fits = c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if fits {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name: String = name.trim_matches(['-', '_']).chars().take(64).collect();
    if name.is_empty() { "main".to_owned() } else { name }
}
