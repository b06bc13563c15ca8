//! `isolation`. The last rule for a target wins.

use super::values::View;
use crate::config::check::Checker;
use crate::config::document::Node;
use crate::config::fault::Problem;
use crate::config::isolation::{
    Backend, Expose, ExposeMode, IsolationConfig, Limits, Network, OwnIsolation, Requirement,
};
use crate::network::AllowedHosts;
use crate::path::CleanPath;
use crate::protect::ProtectRules;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn isolation(view: &View<'_>, checker: &mut Checker<'_>) -> IsolationConfig {
    IsolationConfig {
        enabled: view.flag("enabled"),
        expose_paths: exposures(view, "isolation", checker),
        backend: match view.text("backend") {
            Some("native") => Backend::Native,
            Some("bwrap") => Backend::Bwrap,
            _ => Backend::Auto,
        },
        network: network(view, "isolation", checker).unwrap_or(Network::Host),
        unix_sockets: view.flag("unix_sockets"),
        limits: limits(&view.section("limits")),
        env_pass: view.section("env").texts("pass"),
        toolchains: view.owned("toolchains").unwrap_or_default(),
        require: view.texts("require").iter().map(|layer| requirement(layer)).collect(),
        protect: protect(view, checker),
        debug: false,
        tmp_mb: None,
    }
}

fn protect(view: &View<'_>, checker: &mut Checker<'_>) -> ProtectRules {
    let entries = view.texts("protect");
    for (index, entry) in entries.iter().enumerate() {
        if !ProtectRules::is_valid(entry) {
            let problem = Problem::Refused(format!("`{entry}` is not a relative path without dots"));
            let hint = "name a file or directory of a workspace, such as `.envrc` or `.git/hooks`";
            checker.report(&view.origin("protect"), &format!("isolation.protect[{index}]"), problem, hint);
        }
    }
    ProtectRules::new(entries)
}

/// `tools.mcp.servers.*.isolation`, at `key`.
pub(super) fn own_isolation(view: &View<'_>, key: &str, checker: &mut Checker<'_>) -> OwnIsolation {
    OwnIsolation { expose_paths: exposures(view, key, checker), network: network(view, key, checker) }
}

/// `network`, if it is set. Its entries were checked with the other values.
fn network(view: &View<'_>, section: &str, checker: &mut Checker<'_>) -> Option<Network> {
    let given = view.get("network").filter(|node| !node.is_null());
    match given.map(Node::text) {
        None => None,
        Some(Some(name)) => Some(if name == "none" { Network::None } else { Network::Host }),
        Some(None) => {
            let hosts = view.section("network");
            if hosts.get("allow").is_none() {
                let (key, hint) = (format!("{section}.network"), "`\"none\"` reaches no host");
                checker.report(&view.origin("network"), &key, Problem::Missing { key: "allow" }, hint);
            }
            let list = |name| hosts.texts(name).iter().filter_map(|text| text.parse().ok()).collect();
            Some(Network::Allow(Arc::new(AllowedHosts::new(list("allow"), list("deny")))))
        }
    }
}

fn exposures(view: &View<'_>, section: &str, checker: &mut Checker<'_>) -> Vec<Expose> {
    let mut rules: Vec<Expose> = Vec::new();
    for (index, item) in view.items("expose_paths").iter().enumerate() {
        let key = format!("{section}.expose_paths[{index}]");
        let Some(rule) = exposure(item, &key, checker) else { continue };
        rules.retain(|earlier| earlier.target != rule.target);
        rules.push(rule);
    }
    rules
}

fn exposure(item: &View<'_>, key: &str, checker: &mut Checker<'_>) -> Option<Expose> {
    let source = item.path("source").map(|path| clean_path(&path));
    let mode = match item.text("mode") {
        Some("ro") => Some(ExposeMode::ReadOnly),
        Some("rw") => Some(ExposeMode::ReadWrite),
        _ => None,
    };
    if source.is_none() {
        let hint = "`source` is the host path to show";
        checker.report(&item.origin("source"), key, Problem::Missing { key: "source" }, hint);
    }
    if mode.is_none() {
        checker.report(&item.origin("mode"), key, Problem::Missing { key: "mode" }, "`mode` is `ro` or `rw`");
    }
    let (source, mode) = (source?, mode?);
    let target = item.path("target").map_or_else(|| source.clone(), |path| clean_path(&path));
    if target == Path::new("/") {
        let problem = Problem::Refused("`/` as a target would hide everything else".to_owned());
        checker.report(&item.origin("target"), key, problem, "name the directory that is needed");
        return None;
    }
    Some(Expose { source, target, mode })
}

/// Without dots and repeated slashes, so that two spellings of one target are equal.
fn clean_path(path: &Path) -> PathBuf {
    CleanPath::absolute(path).map_or_else(|| path.to_owned(), |path| path.as_path().to_owned())
}

fn limits(view: &View<'_>) -> Limits {
    Limits {
        memory_mb: view.count("memory_mb"),
        processes: view.count("processes"),
        file_size_mb: view.count("file_size_mb"),
        open_files: view.count("open_files"),
        cpu_seconds: view.count("cpu_seconds"),
    }
}

fn requirement(layer: &str) -> Requirement {
    match layer {
        "network" => Requirement::Network,
        "processes" => Requirement::Processes,
        "syscalls" => Requirement::Syscalls,
        "limits" => Requirement::Limits,
        _ => Requirement::Filesystem,
    }
}
