//! `spec/config.toml` as a test.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot read its table has failed"
)]

use picoclaw_policy::config::{
    ConfigError, Fault, Layers, LoadedConfig, NoSecretSource, SourceLocation, Sources, merge_layers,
};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    loads: Vec<LoadsRow>,
    fault: Vec<FaultRow>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadsRow {
    why: String,
    text: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    want: BTreeMap<String, serde_json::Value>,
    notice: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultRow {
    why: String,
    text: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    at: String,
    says: String,
    hint: String,
}

fn table() -> Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/config.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn sources(text: Option<&str>) -> Sources<'_> {
    Sources { file: "config.json", text, secrets: ".security.yml" }
}

fn load(text: Option<&str>, env: &BTreeMap<String, String>) -> Result<LoadedConfig, ConfigError> {
    let variables: Vec<_> = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let user_home = Some(Path::new("/home/user"));
    merge_layers(
        &Layers { sources: sources(text), secrets: None, variables: &variables, user_home },
        &NoSecretSource,
    )
}

#[test]
fn what_should_load_loads_and_means_what_it_says() {
    for row in table().loads {
        let settled =
            load(row.text.as_deref(), &row.env).unwrap_or_else(|error| panic!("{}: {error}", row.why));
        let shown = settled.show(&sources(row.text.as_deref()), Path::new("/home/user/.picoclaw"));
        for (key, want) in &row.want {
            let got = shown.iter().find(|shown| shown.key == *key).map(|shown| &shown.value);
            assert_eq!(got, Some(want), "{}: `{key}`", row.why);
        }
        let notices: Vec<String> = settled.notices.iter().map(ToString::to_string).collect();
        match &row.notice {
            Some(part) => {
                assert!(notices.iter().any(|notice| notice.contains(part)), "{}: {notices:#?}", row.why)
            }
            None => {
                assert!(notices.is_empty() || row.why.starts_with("version"), "{}: {notices:#?}", row.why)
            }
        }
    }
}

#[test]
fn what_should_not_load_says_where_and_why_and_what_to_do() {
    let mut wrong = Vec::new();
    for row in table().fault {
        let error = load(row.text.as_deref(), &row.env).map(|_| ()).expect_err(&row.why);
        let fits = |fault: &Fault| {
            place(fault) == row.at && fault.to_string().contains(&row.says) && fault.hint.contains(&row.hint)
        };
        if error.faults.len() != 1 || !error.faults.iter().all(fits) {
            wrong.push(format!("{} ({}, {}, {}):\n{error}\n", row.why, row.at, row.says, row.hint));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn place(fault: &Fault) -> String {
    match &fault.location {
        SourceLocation::File { line, column, .. } => format!("{line}:{column}"),
        other => other.to_string(),
    }
}
