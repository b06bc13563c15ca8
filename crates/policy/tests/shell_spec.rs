//! Runs `spec/shell.toml`, row by row, in both modes.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::config::{ExecConfig, FenceMode, Guard as Mode, OnBlock};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{
    Confinement, FileSystem, Guard, GuardContext, Judgement, Kind, Remedy, Resolved,
};
use picoclaw_policy::{CleanPath, FileKind, LinkOwner, PathRules, Protected, Reach, Zones};
use std::collections::BTreeSet;
use std::path::Path;

const WORKSPACE: &str = "/home/user/.picoclaw/workspace";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    family: Vec<Family>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    #[expect(dead_code, reason = "for readers of the table")]
    about: Option<String>,
    rows: Vec<Row>,
}

#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    cmd: String,
    smart: String,
    strict: String,
    why: String,
    weakness: Option<String>,
    #[expect(dead_code, reason = "for readers of the table")]
    seed: Option<String>,
    layer: Option<String>,
    restrict: Option<bool>,
    deny: Option<bool>,
    cage: Option<bool>,
    cwd: Option<String>,
    #[serde(default)]
    read_rules: Vec<String>,
    #[serde(default)]
    write_rules: Vec<String>,
    #[serde(default)]
    custom_allow: Vec<String>,
    #[serde(default)]
    custom_deny: Vec<String>,
}

/// The workspace that the table describes.
struct Table;

impl FileSystem for Table {
    fn resolve(&self, path: &CleanPath) -> Resolved {
        for (link, target) in [("data/link", "/etc"), ("docs/inner", "/home/user/.picoclaw/workspace/src")] {
            let at = clean(&format!("{WORKSPACE}/{link}"));
            if let Some(rest) = path.below(&at) {
                let path = CleanPath::absolute(&Path::new(target).join(rest)).unwrap();
                return Resolved { path, links: LinkOwner::Anyone };
            }
        }
        Resolved { path: path.clone(), links: LinkOwner::System }
    }

    fn kind(&self, path: &CleanPath) -> FileKind {
        let dirs = ["", "/src", "/docs", "/data", "/tests"];
        let is_dir = dirs.iter().any(|dir| path.as_path() == Path::new(&format!("{WORKSPACE}{dir}")));
        if is_dir { FileKind::Directory } else { FileKind::Missing }
    }

    fn entries(&self, dir: &CleanPath) -> Option<Vec<String>> {
        let names: &[&str] = match dir.as_path().strip_prefix(WORKSPACE).ok()?.to_str()? {
            "" => &["src", "docs", "data", "tests", "notes.txt"],
            "docs" => &["inner"],
            "data" => &["link"],
            _ => return None,
        };
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn on_path(&self, path: &CleanPath) -> bool {
        let dir = path.as_path().parent().unwrap_or(Path::new("/"));
        ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"]
            .iter()
            .any(|known| dir == Path::new(known))
    }
}

fn clean(path: &str) -> CleanPath {
    CleanPath::absolute(Path::new(path)).unwrap()
}

fn spec() -> Spec {
    let text = include_str!("../../../spec/shell.toml");
    toml::from_str(text).unwrap()
}

fn guard(row: &Row, mode: Mode) -> Guard {
    Guard::compile(&ExecConfig {
        enable_deny_patterns: row.deny.unwrap_or(true),
        custom_deny_patterns: row.custom_deny.clone(),
        custom_allow_patterns: row.custom_allow.clone(),
        timeout_seconds: 60,
        guard: mode,
        fence: FenceMode::Full,
        on_block: OnBlock::Deny,
    })
    .unwrap()
}

fn judged(row: &Row, mode: Mode) -> Judgement {
    let zones = Zones {
        workspace: vec![clean(WORKSPACE)],
        protected: Protected { trees: vec![clean("/home/user/.picoclaw")], readable: Vec::new() },
    };
    let read_rules = PathRules::compile(&row.read_rules).unwrap();
    let write_rules = PathRules::compile(&row.write_rules).unwrap();
    let cwd = clean(&format!("{WORKSPACE}/{}", row.cwd.as_deref().unwrap_or_default()));
    // A cage has a home of its own.
    let own = clean("/home/user/.picoclaw/runtime-user-env/agents/main");
    let home = if row.cage == Some(true) { clean(&format!("{own}/home")) } else { clean("/home/user") };
    let context = GuardContext {
        zones: &zones,
        read_rules: &read_rules,
        write_rules: &write_rules,
        reach: if row.restrict.unwrap_or(true) {
            Reach::Workspace
        } else {
            Reach::Anywhere("restrict_to_workspace")
        },
        confinement: if row.cage.unwrap_or(false) { Confinement::Cage } else { Confinement::Fence },
        cwd: &cwd,
        home: Some(&home),
        own: &[own],
        script_is_input: false,
        dialect: Dialect::Bash,
        file_system: &Table,
    };
    guard(row, mode).judge(&row.cmd, &context)
}

fn answer(row: &Row, mode: Mode) -> (&'static str, String) {
    let judgement = judged(row, mode);
    let verdict = match judgement.finding.as_ref().map(|finding| finding.kind) {
        None => "allow",
        Some(Kind::Danger | Kind::NotUnderstood) => "danger",
        Some(Kind::PathOutside) => "outside",
    };
    (
        verdict,
        format!(
            "{:?}\n      others {:?}\n      commands {:?}",
            judgement.finding, judgement.others, judgement.commands
        ),
    )
}

#[test]
fn every_row_of_the_table_is_answered_as_it_says() {
    let mut wrong = Vec::new();
    for family in &spec().family {
        for row in &family.rows {
            for (mode, name, want) in
                [(Mode::Smart, "smart", &row.smart), (Mode::Strict, "strict", &row.strict)]
            {
                let (got, found) = answer(row, mode);
                if got != want {
                    wrong.push(format!(
                        "{} · {name}: `{}` ({}) is {got}, not {want}\n      {found}",
                        family.name, row.cmd, row.why
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

/// The row under the settings that its refusal names; `None` where no setting is named.
fn remedied(row: &Row, mode: Mode, judgement: &Judgement) -> Option<(Row, Mode)> {
    let (mut row, mut mode) = (row.clone(), mode);
    for finding in judgement.finding.iter().chain(&judgement.others) {
        match &finding.remedy {
            Remedy::AllowPattern(pattern) => row.custom_allow.push(pattern.clone()),
            Remedy::Smart => mode = Mode::Smart,
            Remedy::ReadPath(pattern) => row.read_rules.push(pattern.clone()),
            Remedy::WritePath(pattern) => row.write_rules.push(pattern.clone()),
            Remedy::DropDeny(pattern) => row.custom_deny.retain(|known| known != pattern),
            Remedy::Cage => row.cage = Some(true),
            Remedy::Ask | Remedy::Rewrite(_) | Remedy::None => return None,
        }
    }
    Some((row, mode))
}

#[test]
fn the_settings_that_a_refusal_names_are_enough() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for row in spec().family.iter().flat_map(|family| &family.rows) {
        for mode in [Mode::Smart, Mode::Strict] {
            let judgement = judged(row, mode);
            let Some((under, mode)) = remedied(row, mode, &judgement) else { continue };
            tried += 1;
            let after = judged(&under, mode);
            if !after.is_allowed() {
                let hint = judgement.refusal().map(|refusal| refusal.hint);
                wrong.push(format!("`{}`: {hint:?}\n   still {:?}", row.cmd, after.finding));
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_is_as_large_and_as_mixed_as_it_has_to_be() {
    let spec = spec();
    let rows: Vec<&Row> = spec.family.iter().flat_map(|family| &family.rows).collect();
    let benign = rows.iter().filter(|row| row.smart == "allow" && row.layer.is_none()).count();
    assert!(rows.len() >= 600, "{} rows", rows.len());
    assert!(benign * 3 >= rows.len(), "{benign} benign rows of {}", rows.len());
    let weaknesses: BTreeSet<&str> = rows.iter().filter_map(|row| row.weakness.as_deref()).collect();
    let missing: Vec<String> =
        (1..=35).map(|n| format!("W{n:02}")).filter(|name| !weaknesses.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}
