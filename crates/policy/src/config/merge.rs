//! The layers laid over each other: defaults, file, secrets, environment.
//!
//! Invariant: a configuration is used whole or not at all; whatever is wrong is told at once.

use super::build::build;
use super::check::{Checker, Notice};
use super::config::Config;
use super::document::{Node, Origin, Source, Value, parse, without_bom};
use super::fault::{ConfigError, Problem};
use super::resolve_secrets::{SecretResolver, SecretSource};
use super::schema::{NEWEST, ROOT, Shape};
use super::sources::Sources;
use super::{environment, secrets_layer};
use std::path::Path;

/// Everything a configuration is made of.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// The files' names, and the configuration's text.
    pub sources: Sources<'a>,
    /// The secrets file, if there is one.
    pub secrets: Option<&'a Node>,
    /// The `PICOCLAW_*` variables.
    pub variables: &'a [(String, String)],
    /// What `~` stands for.
    pub user_home: Option<&'a Path>,
}

/// A configuration, and how it came about.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// What is in force.
    pub config: Config,
    /// What a person should know of.
    pub notices: Vec<Notice>,
    /// What it was made from.
    pub tree: ConfigTree,
}

/// What a configuration was made from, for showing.
#[derive(Debug, Clone)]
pub struct ConfigTree {
    pub(crate) root: Node,
}

/// Lays the layers over each other, or says everything that is wrong.
pub fn merge_layers(layers: &Layers<'_>, vault: &dyn SecretSource) -> Result<LoadedConfig, ConfigError> {
    let parsed = parse(without_bom(layers.sources.text.unwrap_or("")), Source::File);
    let mut checker = Checker::new(&layers.sources, &parsed.controls, layers.user_home);
    for error in &parsed.errors {
        checker.fault(&Origin::File(error.at), &error.key, error.problem.clone(), error.hint.as_str());
    }
    for (at, key) in &parsed.repeated {
        checker.note(&Origin::File(*at), format!("`{key}` stands here a second time"));
    }
    let mut root = parsed.root.unwrap_or_else(|| Node::new(Value::Map(Vec::new()), Origin::Default));
    checker.value(&mut root, const { &Shape::Section(ROOT) }, &mut String::new());
    version(&root, &mut checker);
    let mut found = match layers.secrets {
        Some(secrets) => secrets_layer::apply(&mut root, secrets, &mut checker),
        None => Vec::new(),
    };
    found.extend(environment::apply(&mut root, layers.variables, &mut checker));
    if !checker.faults.is_empty() {
        return Err(ConfigError { faults: checker.faults });
    }
    let mut revealer = SecretResolver { vault, checker: &mut checker, found: Vec::new() };
    found.iter().for_each(|secret| revealer.keep(secret));
    revealer.section(&mut root, ROOT, &mut String::new());
    let secrets = longest_first(revealer.found);
    let config = build(&root, secrets, &mut checker);
    if !checker.faults.is_empty() {
        return Err(ConfigError { faults: checker.faults });
    }
    Ok(LoadedConfig { config, notices: checker.notices, tree: ConfigTree { root } })
}

fn version(root: &Node, checker: &mut Checker<'_>) {
    let Some(node) = root.get("version") else { return };
    let Value::Number(text) = &node.value else { return };
    if !text.parse::<i64>().is_ok_and(|version| (0..=NEWEST).contains(&version)) {
        checker.faults.retain(|fault| fault.key != "version");
        let problem = Problem::Refused(format!("unsupported config version: {text}"));
        checker.fault(&node.origin, "version", problem, format!("versions 0 to {NEWEST} are read"));
    }
}

/// Each secret once, the longest first: a redactor that replaces in this order leaves no tail of one behind (W84).
fn longest_first(mut secrets: Vec<String>) -> Vec<String> {
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets
}
