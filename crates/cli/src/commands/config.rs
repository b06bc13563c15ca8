//! `picoclaw config check|show|schema`. The output contains no secrets.

use crate::settings::{ConfigPresence, RefusedHelpers, Request, SettingsError, load};
use picoclaw_policy::config::{Fault, SourceLocation, advice, reminders, schema};
use picoclaw_sandbox::isolate::{LiveHost, exposure_faults};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Exit status: done.
pub(crate) const DONE: u8 = 0;

/// Exit status: the configuration is not valid.
pub(crate) const BAD_CONFIGURATION: u8 = 2;

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
    let refused = RefusedHelpers::of(&settings).hooks;
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
    notes.extend(advice(&settings.config));
    notes.extend(reminders(&settings.config));
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
