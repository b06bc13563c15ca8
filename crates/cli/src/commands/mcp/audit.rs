//! Records the operator's changes in the ledger.

use crate::app;
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_policy::{Grant, Origin, Verdict};
use picoclaw_sandbox::ledger::Entry;
use std::time::Instant;

/// Runs `work` between its *decided* and *finished* records.
pub(crate) fn recorded<T, E>(
    loaded: &Settings,
    tool: &str,
    intent: &str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<Result<T, E>> {
    let instance = app::open_instance(loaded)?;
    let ledger = app::open_ledger(&instance, &loaded.config)?;
    let rule = "the operator's own command".to_owned();
    let verdict = Verdict::Allow(Grant { rule });
    let subject = app::subject(loaded, None, Origin::Cli)?;
    let decided = Entry::decided(&subject, tool, intent, &verdict);
    ledger.append(std::slice::from_ref(&decided))?;
    let started = Instant::now();
    let result = work();
    let outcome = if result.is_ok() { "ok" } else { "error" };
    ledger.append(&[decided.finished(outcome, started.elapsed())])?;
    Ok(result)
}
