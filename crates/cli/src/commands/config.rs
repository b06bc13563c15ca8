//! `picoclaw config check|show|schema`.
//!
//! Invariant: nothing that is printed holds a secret.

use crate::settings::{Presence, Request, SettingsError, load};
use picoclaw_policy::config::{Fault, SourceLocation, advice, reminders, schema};
use picoclaw_sandbox::isolate::{LiveHost, exposure_faults};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Exit status: done.
pub(crate) const DONE: u8 = 0;

/// Exit status: the configuration cannot be used.
pub(crate) const BAD_CONFIGURATION: u8 = 2;

/// How a listing is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Says whether the configuration can be used, and everything that is wrong or loose about it.
pub(crate) fn check(
    request: &Request<'_>,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let loaded = match load(request) {
        Ok(loaded) => loaded,
        Err(error) => {
            match format {
                Format::Text => complain(&error, err)?,
                Format::Json => {
                    writeln!(out, "{}", json!({ "ok": false, "errors": errors(&error), "warnings": [] }))?
                }
            }
            return Ok(BAD_CONFIGURATION);
        }
    };
    let missing: Vec<String> = exposure_faults(&loaded.config.isolation.expose_paths, &LiveHost)
        .iter()
        .map(ToString::to_string)
        .collect();
    if loaded.config.isolation.enabled && !missing.is_empty() {
        // No child could be started, and so no program would.
        match format {
            Format::Text => missing.iter().try_for_each(|fault| writeln!(err, "error: {fault}"))?,
            Format::Json => {
                let errors: Vec<Value> = missing.iter().map(|fault| json!({ "message": fault })).collect();
                writeln!(out, "{}", json!({ "ok": false, "errors": errors, "warnings": [] }))?;
            }
        }
        return Ok(BAD_CONFIGURATION);
    }
    let mut notes = loaded.warnings();
    notes.extend(missing);
    notes.extend(advice(&loaded.config));
    notes.extend(reminders(&loaded.config));
    let file = loaded.config_path.display();
    match format {
        Format::Json => {
            let present = loaded.presence == Presence::Present;
            let verdict = json!({ "ok": true, "file": file.to_string(), "present": present, "errors": [], "warnings": notes });
            writeln!(out, "{verdict}")?;
        }
        Format::Text => {
            for note in &notes {
                writeln!(err, "warning: {note}")?;
            }
            match loaded.presence {
                Presence::Present => writeln!(out, "{file}: ok")?,
                Presence::Missing => writeln!(out, "{file}: not there; the defaults apply")?,
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
    let loaded = match load(request) {
        Ok(loaded) => loaded,
        Err(error) => {
            complain(&error, err)?;
            return Ok(BAD_CONFIGURATION);
        }
    };
    let rows = loaded.show();
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

/// Prints why nothing was loaded.
pub(crate) fn complain(error: &SettingsError, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "{error}")?;
    match error.hint() {
        Some(hint) => writeln!(err, "hint: {hint}"),
        None => Ok(()),
    }
}

fn errors(error: &SettingsError) -> Value {
    match error {
        SettingsError::Config(error) => error.faults.iter().map(fault).collect(),
        SettingsError::Workspaces(faults) => {
            faults.iter().map(|fault| json!({ "message": fault.to_string(), "hint": fault.hint() })).collect()
        }
        other => json!([{ "message": other.to_string(), "hint": other.hint() }]),
    }
}

fn fault(fault: &Fault) -> Value {
    let mut shown = json!({ "key": fault.key, "message": fault.problem.to_string(), "hint": fault.hint });
    match &fault.place {
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
