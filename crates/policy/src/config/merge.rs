//! Merges the layers: defaults, file, secrets, environment. A configuration loads as a whole or not
//! at all.

use super::build::build;
use super::check::{Checker, Notice};
use super::config::Config;
use super::document::{Node, Origin, Source, Value, parse, without_bom};
use super::fault::{ConfigError, Problem};
use super::resolve_secrets::{SecretResolver, SecretSource};
use super::schema::{NEWEST_VERSION, ROOT, Shape};
use super::sources::Sources;
use super::{environment, secrets_layer};
use std::path::Path;

/// The inputs of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// The names of the files, and the configuration's text.
    pub sources: Sources<'a>,
    /// The parsed secrets file, if there is one.
    pub secrets: Option<&'a Node>,
    /// The `PICOCLAW_*` variables.
    pub variables: &'a [(String, String)],
    /// The expansion of `~`.
    pub user_home: Option<&'a Path>,
}

/// A configuration and its origin.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// The effective configuration.
    pub config: Config,
    /// Notices for the operator.
    pub notices: Vec<Notice>,
    /// The merged tree.
    pub tree: ConfigTree,
}

/// The merged tree, for `config show`.
#[derive(Debug, Clone)]
pub struct ConfigTree {
    pub(crate) root: Node,
}

impl ConfigTree {
    /// Whether a layer gives this section of the root.
    pub fn names(&self, section: &str) -> bool {
        self.root.get(section).is_some()
    }
}

/// Merges the layers, or returns every fault.
pub fn merge_layers(
    layers: &Layers<'_>,
    secret_source: &dyn SecretSource,
) -> Result<LoadedConfig, ConfigError> {
    let parsed = parse(without_bom(layers.sources.text.unwrap_or("")), Source::File);
    let mut checker = Checker::new(&layers.sources, &parsed.controls, layers.user_home);
    for error in &parsed.errors {
        checker.report(&Origin::File(error.at), &error.key, error.problem.clone(), error.hint.as_str());
    }
    for (at, key) in &parsed.repeated {
        checker.report_notice(&Origin::File(*at), format!("`{key}` appears a second time"));
    }
    let mut root = parsed.root.unwrap_or_else(|| Node::new(Value::Map(Vec::new()), Origin::Default));
    checker.check_value(&mut root, const { &Shape::Section(ROOT) }, &mut String::new());
    check_version(&root, &mut checker);
    let mut found = match layers.secrets {
        Some(secrets) => secrets_layer::apply(&mut root, secrets, &mut checker),
        None => Vec::new(),
    };
    found.extend(environment::apply(&mut root, layers.variables, &mut checker));
    if !checker.faults.is_empty() {
        return Err(ConfigError { faults: checker.faults });
    }
    let mut resolver = SecretResolver { source: secret_source, checker: &mut checker, found: Vec::new() };
    found.iter().for_each(|secret| resolver.collect_secret(secret));
    resolver.resolve_section(&mut root, ROOT, &mut String::new());
    let secrets = sort_secrets(resolver.found);
    let config = build(&root, secrets, &mut checker);
    if !checker.faults.is_empty() {
        return Err(ConfigError { faults: checker.faults });
    }
    Ok(LoadedConfig { config, notices: checker.notices, tree: ConfigTree { root } })
}

fn check_version(root: &Node, checker: &mut Checker<'_>) {
    let Some(node) = root.get("version") else { return };
    let Value::Number(text) = &node.value else { return };
    if !text.parse::<i64>().is_ok_and(|version| (0..=NEWEST_VERSION).contains(&version)) {
        checker.faults.retain(|fault| fault.key != "version");
        let problem = Problem::Refused(format!("unsupported config version: {text}"));
        checker.report(&node.origin, "version", problem, format!("versions 0 to {NEWEST_VERSION} are read"));
    }
}

/// Each secret once, the longest first, so that redaction leaves no tail of a longer one (W84).
fn sort_secrets(mut secrets: Vec<String>) -> Vec<String> {
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets
}
