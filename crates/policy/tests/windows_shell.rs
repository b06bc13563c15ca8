//! Runs `spec/windows_shell.toml`, row by row, in both modes.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::config::{ExecConfig, FenceMode, Guard as Mode, OnBlock};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{Confinement, Guard, GuardContext, Judgement, Kind, NoFileSystem};
use picoclaw_policy::{CleanPath, PathRules, Protected, Reach, Zones};
use std::path::Path;

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

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    cmd: String,
    smart: String,
    strict: String,
    why: String,
    #[expect(dead_code, reason = "for readers of the table")]
    seed: Option<String>,
    restrict: Option<bool>,
    deny: Option<bool>,
    /// Further Protected directories, below the workspace.
    #[serde(default)]
    protected: Vec<String>,
    #[serde(default)]
    read_rules: Vec<String>,
    #[serde(default)]
    write_rules: Vec<String>,
    #[serde(default)]
    custom_allow: Vec<String>,
    #[serde(default)]
    custom_deny: Vec<String>,
}

/// The same place on both systems: `/x` is `C:\x`.
fn clean(path: &str) -> CleanPath {
    let drive = if cfg!(windows) { "C:" } else { "" };
    CleanPath::absolute(Path::new(&format!("{drive}{path}"))).unwrap()
}

fn judged(row: &Row, mode: Mode) -> Judgement {
    let cwd = clean("/home/user/.picoclaw/workspace");
    let inside = row.protected.iter().map(|name| clean(&format!("/home/user/.picoclaw/workspace/{name}")));
    let zones = Zones {
        workspace: vec![cwd.clone()],
        protected: Protected {
            trees: std::iter::once(clean("/home/user/.picoclaw")).chain(inside).collect(),
            readable: Vec::new(),
        },
    };
    let read_rules = PathRules::compile(&row.read_rules).unwrap();
    let write_rules = PathRules::compile(&row.write_rules).unwrap();
    let restricted = row.restrict.unwrap_or(true);
    let context = GuardContext {
        zones: &zones,
        read_rules: &read_rules,
        write_rules: &write_rules,
        reach: if restricted { Reach::Workspace } else { Reach::Anywhere("restrict_to_workspace") },
        confinement: Confinement::Nothing,
        cwd: &cwd,
        home: None,
        own: &[],
        script_is_input: false,
        dialect: Dialect::PowerShell,
        file_system: &NoFileSystem,
    };
    let guard = Guard::compile(&ExecConfig {
        enable_deny_patterns: row.deny.unwrap_or(true),
        custom_deny_patterns: row.custom_deny.clone(),
        custom_allow_patterns: row.custom_allow.clone(),
        timeout_seconds: 60,
        guard: mode,
        fence: FenceMode::Full,
        on_block: OnBlock::Deny,
    });
    guard.unwrap().judge(&row.cmd, &context)
}

#[test]
fn every_row_of_the_windows_table_is_answered_as_it_says() {
    let spec: Spec = toml::from_str(include_str!("../../../spec/windows_shell.toml")).unwrap();
    let mut wrong = Vec::new();
    for (family, row) in
        spec.family.iter().flat_map(|family| family.rows.iter().map(move |row| (family, row)))
    {
        for (mode, want) in [(Mode::Smart, &row.smart), (Mode::Strict, &row.strict)] {
            let judgement = judged(row, mode);
            let got = match judgement.finding.as_ref().map(|finding| finding.kind) {
                None => "allow",
                Some(Kind::Danger | Kind::NotUnderstood) => "danger",
                Some(Kind::PathOutside) => "outside",
            };
            if got != want {
                let (name, cmd, why) = (&family.name, &row.cmd, &row.why);
                let found = &judgement.finding;
                wrong.push(format!(
                    "{name} · {mode:?}: `{cmd}` ({why}) is {got}, not {want}\n      {found:?}"
                ));
            }
        }
    }
    for row in spec.family.iter().flat_map(|family| &family.rows) {
        if judged(row, Mode::Strict).is_allowed() && !judged(row, Mode::Smart).is_allowed() {
            wrong.push(format!("`{}` is refused by `smart` alone", row.cmd));
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}
