//! `picoclaw config check|show|schema`. The output contains no secrets.

use crate::settings::{ConfigPresence, RefusedHelpers, Request, Settings, SettingsError, load};
use picoclaw_agent::providers::{ModelError, Models};
use picoclaw_policy::config::{Config, Fault, SourceLocation, advice, schema};
use picoclaw_sandbox::isolate::{LiveHost, exposure_faults};
use picoclaw_sandbox::launch::find_program;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Write};

/// Exit status: done.
pub(crate) const DONE: u8 = 0;

/// Exit status: the configuration is not valid.
const BAD_CONFIGURATION: u8 = 2;

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Validates the configuration, and prints every fault and warning.
pub(crate) fn check(
    request: &Request<'_>,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let settings = match load(request) {
        Ok(settings) => settings,
        Err(error) => {
            match format {
                Format::Text => print_error(&error, err)?,
                Format::Json => writeln!(
                    out,
                    "{}",
                    json!({ "ok": false, "errors": errors_json(&error), "warnings": [] })
                )?,
            }
            return Ok(BAD_CONFIGURATION);
        }
    };
    let mut refused = RefusedHelpers::of(&settings).hooks;
    refused.extend(missing_hook_programs(&settings));
    let (broken, keyless) = model_faults(&settings.config);
    refused.extend(broken);
    let missing: Vec<String> = exposure_faults(&settings.config.isolation.expose_paths, &LiveHost)
        .iter()
        .map(ToString::to_string)
        .collect();
    // No child, or no turn, could be started.
    let fatal: Vec<&String> =
        missing.iter().filter(|_| settings.config.isolation.enabled).chain(&refused).collect();
    if !fatal.is_empty() {
        match format {
            Format::Text => fatal.iter().try_for_each(|fault| writeln!(err, "error: {fault}"))?,
            Format::Json => {
                let errors: Vec<Value> = fatal.iter().map(|fault| json!({ "message": fault })).collect();
                writeln!(out, "{}", json!({ "ok": false, "errors": errors, "warnings": [] }))?;
            }
        }
        return Ok(BAD_CONFIGURATION);
    }
    let mut notes = settings.warnings();
    notes.extend(missing);
    notes.extend(keyless);
    notes.extend(advice(&settings.config));
    notes.extend(settings.reminders());
    let file = settings.config_path.display();
    match format {
        Format::Json => {
            let present = settings.presence == ConfigPresence::Present;
            let verdict = json!({ "ok": true, "file": file.to_string(), "present": present, "errors": [], "warnings": notes });
            writeln!(out, "{verdict}")?;
        }
        Format::Text => {
            for note in &notes {
                writeln!(err, "warning: {note}")?;
            }
            match settings.presence {
                ConfigPresence::Present => writeln!(out, "{file}: ok")?,
                ConfigPresence::Missing => writeln!(out, "{file}: not there; the defaults apply")?,
            }
        }
    }
    Ok(DONE)
}

/// Models that cannot be used: those that no turn could ask, and those that only lack a key.
fn model_faults(config: &Config) -> (Vec<String>, Vec<String>) {
    let faults = Models::new(config).faults();
    let (keyless, broken): (Vec<_>, Vec<_>) =
        faults.into_iter().partition(|fault| matches!(fault, ModelError::NoKey { .. }));
    let text = |fault: ModelError| format!("{fault}\nhint: {}", fault.hint());
    let line = |fault: ModelError| format!("{fault}; {}", fault.hint());
    (broken.into_iter().map(text).collect(), keyless.into_iter().map(line).collect())
}

/// Hooks whose program is not there; no turn would run.
fn missing_hook_programs(settings: &Settings) -> Vec<String> {
    let hooks = &settings.config.hooks;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = hooks.processes.iter().filter(|hook| hooks.enabled && hook.enabled).filter_map(|hook| {
        let from = hook.dir.as_deref().unwrap_or(&settings.home);
        let program = hook.command.first()?;
        let why = find_program(OsStr::new(program), &path, from).err()?;
        Some(format!("hook `{}` cannot start: {why}", hook.name))
    });
    missing.collect()
}

/// Prints every key with its value and origin, secrets masked.
pub(crate) fn show(
    request: &Request<'_>,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let settings = match load(request) {
        Ok(settings) => settings,
        Err(error) => {
            print_error(&error, err)?;
            return Ok(BAD_CONFIGURATION);
        }
    };
    let rows = settings.show();
    match format {
        Format::Text => {
            for row in rows {
                writeln!(out, "{} = {}  # {}", row.key, row.value, row.origin)?;
            }
        }
        Format::Json => {
            let rows: Vec<Value> = rows
                .into_iter()
                .map(|row| json!({ "key": row.key, "value": row.value, "origin": row.origin }))
                .collect();
            writeln!(out, "{}", Value::Array(rows))?;
        }
    }
    Ok(DONE)
}

/// Prints the JSON Schema of the configuration file.
pub(crate) fn print_schema(out: &mut dyn Write) -> io::Result<u8> {
    writeln!(out, "{:#}", schema())?;
    Ok(DONE)
}

/// Prints why the settings did not load.
pub(crate) fn print_error(error: &SettingsError, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "{error}")?;
    match error.hint() {
        Some(hint) => writeln!(err, "hint: {hint}"),
        None => Ok(()),
    }
}

fn errors_json(error: &SettingsError) -> Value {
    match error {
        SettingsError::Config(error) => error.faults.iter().map(fault_json).collect(),
        SettingsError::Workspaces(faults) => {
            faults.iter().map(|fault| json!({ "message": fault.to_string(), "hint": fault.hint() })).collect()
        }
        other => json!([{ "message": other.to_string(), "hint": other.hint() }]),
    }
}

fn fault_json(fault: &Fault) -> Value {
    let mut shown = json!({ "key": fault.key, "message": fault.problem.to_string(), "hint": fault.hint });
    match &fault.location {
        SourceLocation::File { file, line, column } => {
            shown["file"] = json!(file);
            shown["line"] = json!(line);
            shown["column"] = json!(column);
        }
        SourceLocation::Variable(name) => shown["variable"] = json!(name),
        SourceLocation::Default => {}
    }
    shown
}
