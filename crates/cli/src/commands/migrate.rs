//! `picoclaw migrate`: what every key of a PicoClaw home means here, and what to change.

use crate::app;
use crate::arguments::MigrateArguments;
use crate::commands::config::print_error;
use crate::exit::Exit;
use crate::print;
use crate::settings::{
    ConfigPresence, Migration, ProcessEnv, Request, Settings, load, migrate, movable_providers,
};
use anyhow::Result;
use picoclaw_policy::config::ShownKey;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::{printable, printable_json, printable_path};
use serde_json::{Value, json};
use std::ffi::OsString;

/// Keys that mean more here than in PicoClaw, by their beginning, with what is different. The lists
/// of an array's index are left out.
const STRICTER: &[(&str, &str)] = &[
    (
        "agents.defaults.restrict_to_workspace",
        "if false, the instance, its secrets and other agents' workspaces stay closed, and dangerous commands stay blocked",
    ),
    (
        "agents.defaults.allow_read_outside_workspace",
        "the instance, its secrets and other agents' workspaces stay closed",
    ),
    ("agents.defaults.workspace", "a home, a system directory and what holds the instance are refused"),
    ("agents.list.workspace", "a home, a system directory, what holds the instance and overlaps are refused"),
    (
        "agents.agents.workspace",
        "a home, a system directory, what holds the instance and overlaps are refused",
    ),
    ("tools.allow_read_paths", "the path behind links must match too; `/proc/<pid>` stays closed"),
    ("tools.allow_write_paths", "the path behind links must match too; the instance stays closed"),
    (
        "tools.exec.custom_allow_patterns",
        "lifts the rules for the one command that it matches, not for the line",
    ),
    ("tools.exec.custom_deny_patterns", "is matched with the text as written and with the parsed command"),
    (
        "tools.exec.enable_deny_patterns",
        "the workspace still holds paths and, by the fence, reads and writes",
    ),
    (
        "isolation.enabled",
        "a cage of our own comes first, bubblewrap second; what cannot be held stops the start",
    ),
    ("isolation.expose_paths", "a source that is missing is an error"),
    (
        "hooks.processes",
        "a hook whose program an agent can write is not started; one that fails stops the turn",
    ),
    (
        "tools.mcp.servers",
        "tools are pinned at first use; a change is withheld until `picoclaw mcp trust NAME`",
    ),
    ("gateway.host", "other machines need `gateway.token`"),
    ("tools.cron.allow_command", "`command_confirm` lifts nothing"),
    (
        "heartbeat.enabled",
        "a turn that reads `HEARTBEAT.md` has no more rights than who wrote it; `picoclaw trust` lifts that",
    ),
];

/// One row of the explanation.
struct Row {
    key: String,
    value: Value,
    answer: &'static str,
    why: String,
    change: Option<String>,
}

/// Explains, or writes.
pub(crate) fn run(arguments: &MigrateArguments, process_env: &ProcessEnv) -> Result<Exit> {
    let mut env = process_env.clone();
    if let Some(dir) = &arguments.dir {
        let dir = std::path::absolute(dir)?;
        env.variables.insert(OsString::from("PICOCLAW_HOME"), dir.into_os_string());
        env.variables.remove(&OsString::from("PICOCLAW_CONFIG"));
    }
    let request = Request { config: None, env: &env };
    let loaded = match load(&request) {
        Ok(loaded) => loaded,
        Err(why) => {
            print_error(&why, &mut std::io::stderr())?;
            return Ok(Exit::Usage);
        }
    };
    if loaded.presence == ConfigPresence::Missing {
        print::note(&format!("error: there is no `{}`", printable_path(&loaded.config_path)));
        print::note("hint: name a PicoClaw home: `picoclaw migrate DIR`");
        return Ok(Exit::Usage);
    }
    let rows = rows(&loaded);
    if arguments.write {
        return write(&loaded, &env);
    }
    if arguments.json {
        let rows: Vec<Value> = rows.iter().map(|row| {
            json!({"key": row.key, "value": row.value, "answer": row.answer, "why": row.why, "change": row.change})
        }).collect();
        print::line(&printable_json(&rows)?)?;
        return Ok(Exit::Done);
    }
    print_rows(&rows, &loaded)?;
    Ok(Exit::Done)
}

/// Every key and rule of the files.
fn rows(loaded: &Settings) -> Vec<Row> {
    let files = [&loaded.config_path, &loaded.secrets_path].map(|path| format!("{}:", path.display()));
    let given = loaded.show().into_iter().filter(|row| files.iter().any(|file| row.origin.starts_with(file)));
    let mut rows: Vec<Row> = given.flat_map(|shown| explain(&shown, &files[0])).collect();
    for model in movable_providers(loaded) {
        let start = format!("providers.{}.", model.name);
        for row in rows.iter_mut().filter(|row| row.key.starts_with(&start)) {
            let key = if row.change.is_some() { ", and the key into `.security.yml`" } else { "" };
            row.change = Some(format!("move it into `model_list`{key}"));
        }
    }
    if loaded.unnamed_isolation().is_some() {
        rows.push(Row {
            key: "isolation".to_owned(),
            value: Value::Null,
            answer: "same",
            why: "not named, so off: a fence holds what commands read and write, not a cage".to_owned(),
            change: Some("add `\"isolation\": {\"enabled\": true}`".to_owned()),
        });
    }
    rows
}

/// The rows of a key: one for each rule of a list of rules.
fn explain(shown: &ShownKey, config: &str) -> Vec<Row> {
    let bare: String = strip_indexes(&shown.key);
    let stricter = STRICTER
        .iter()
        .find(|(key, _)| bare == *key || bare.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
    let (answer, why) = match (shown.foreign, stricter) {
        (Some(what), _) => ("not served", what.to_owned()),
        (None, Some((_, why))) => ("stricter", (*why).to_owned()),
        (None, None) => ("same", String::new()),
    };
    let is_key = bare.ends_with(".api_key") || bare.ends_with(".api_keys");
    let change = match answer {
        "not served" => Some("nothing; it is kept and ignored, with a warning at each start".to_owned()),
        _ if is_key && shown.origin.starts_with(config) => Some("move it into `.security.yml`".to_owned()),
        _ => None,
    };
    let row = |value: Value| Row {
        key: shown.key.clone(),
        value,
        answer,
        why: why.clone(),
        change: change.clone(),
    };
    match &shown.value {
        Value::Array(rules) if answer == "stricter" && !rules.is_empty() => {
            rules.iter().cloned().map(row).collect()
        }
        value => vec![row(value.clone())],
    }
}

/// `agents.list[0].id` as `agents.list.id`.
fn strip_indexes(key: &str) -> String {
    let mut depth = 0;
    key.chars()
        .filter(|c| {
            match c {
                '[' => depth += 1,
                ']' => {
                    depth -= 1;
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

fn print_rows(rows: &[Row], loaded: &Settings) -> Result<()> {
    for row in rows {
        let value = if row.value.is_null() { String::new() } else { format!(" = {}", row.value) };
        print::line(&printable(&format!("{:<10}  {}{value}", row.answer, row.key)))?;
        if !row.why.is_empty() {
            print::line(&format!("{:12}{}", "", printable(&row.why)))?;
        }
        if let Some(change) = row.change.as_ref().filter(|_| row.answer != "not served") {
            print::line(&format!("{:12}to change: {change}", ""))?;
        }
    }
    let count = |answer: &str| rows.iter().filter(|row| row.answer == answer).count();
    let changes = rows.iter().any(|row| row.change.is_some() && row.answer != "not served");
    print::line(&format!(
        "{}: {} same, {} stricter, {} not served",
        loaded.config_path.display(),
        count("same"),
        count("stricter"),
        count("not served")
    ))?;
    if changes {
        print::line("`picoclaw migrate --write` makes these changes, after a copy of each file")?;
    }
    Ok(())
}

fn write(loaded: &Settings, env: &ProcessEnv) -> Result<Exit> {
    let files = [loaded.config_path.clone(), loaded.secrets_path.clone()];
    let instance = Instance::prepare(&loaded.home, &loaded.config, &files)?;
    let isolation = loaded.unnamed_isolation().map(|_| app::can_isolate(&loaded.config.isolation));
    match migrate(loaded, env, &instance, isolation)? {
        Migration::Nothing => print::line("nothing to change")?,
        Migration::Written { copies, providers, moved } => {
            for copy in copies {
                print::line(&format!("copied: {copy}"))?;
            }
            if let Some(enabled) = isolation {
                print::line(&format!("written: `isolation.enabled` is {enabled}"))?;
            }
            for name in providers {
                print::line(&format!("moved: `providers.{}` into `model_list`", printable(&name)))?;
            }
            if moved > 0 {
                print::line(&format!(
                    "moved: the keys of {moved} models into {}",
                    loaded.secrets_path.display()
                ))?;
            }
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_without_its_indexes() {
        for (key, want) in [
            ("agents.list[0].workspace", "agents.list.workspace"),
            ("tools.allow_read_paths", "tools.allow_read_paths"),
            ("model_list[12].api_keys", "model_list.api_keys"),
        ] {
            assert_eq!(strip_indexes(key), want);
        }
    }
}
