//! Changing the configuration file for the person who asked for it.
//!
//! One revision at a time: the file is read, changed and written under one lock. The new text is loaded before it is
//! written, with secrets and environment laid over it as at a start, and must mean what the old one did but for the change.
//!
//! Invariant: a text that would not load, or that changes anything else, is never written.

use super::edit_mcp::{self, ChangeError, McpChange};
use super::load::{Request, Settings, SettingsError, load_with_text};
use super::process_env::ProcessEnv;
use picoclaw_policy::config::{Config, McpServerConfig};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::RootError;
use picoclaw_sandbox::shelf::{Shelf, ShelfError};
use std::time::Duration;

/// The name of the lock, among the instance's own files.
const LOCK_FILE: &str = "configuration.lock";

/// How long another revision is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The file, as it is or as it would be, does not load.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The text cannot be changed in place.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The new text would say something else than was asked for.
    #[error("the change would not come out as asked")]
    Elsewhere,
    /// What the change was asked for with is not so any more.
    #[error("somebody else changed the servers of the configuration meanwhile; look again")]
    Meanwhile,
    /// Another revision holds the lock.
    #[error(transparent)]
    Lock(#[from] ShelfError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] RootError),
}

/// Makes one change to the configuration file; what is in force then.
pub(crate) fn edit_config(
    settings: &Settings,
    env: &ProcessEnv,
    instance: &Instance,
    change: &McpChange<'_>,
) -> Result<Settings, EditError> {
    let _alone = Shelf::of_instance(instance.home())?.hold(LOCK_FILE, LOCK_TIMEOUT)?;
    let request = Request { config: Some(&settings.config_path), env: env };
    // Again, under the lock: somebody may have changed it since the start.
    let before = match load_with_text(&request, None) {
        Err(SettingsError::Missing(_)) => load_with_text(&request, Some("{}"))?,
        read => read?,
    };
    if !is_unchanged(&settings.config, &before.config, change) {
        return Err(EditError::Meanwhile);
    }
    let text = edit_mcp::apply(before.text().unwrap_or_default(), change)?;
    let after = load_with_text(&request, Some(&text))?;
    if !is_only_change(&before.config, &after.config, change) {
        return Err(EditError::Elsewhere);
    }
    instance.rewrite(&settings.config_path, &text)?;
    Ok(after)
}

/// Whether what the change rests on is still so: that the server is there or not, and that it is the last one or not.
fn is_unchanged(seen: &Config, now: &Config, change: &McpChange<'_>) -> bool {
    let is_there = |config: &Config| config.mcp.servers.iter().any(|server| server.name == change.name());
    let is_last = |config: &Config| config.mcp.servers.len() == 1;
    is_there(seen) == is_there(now)
        && (matches!(change, McpChange::Put { .. }) || is_last(seen) == is_last(now))
}

/// Whether two configurations differ in nothing but the change.
fn is_only_change(before: &Config, after: &Config, change: &McpChange<'_>) -> bool {
    let others = |config: &Config| -> Vec<McpServerConfig> {
        config.mcp.servers.iter().filter(|server| server.name != change.name()).cloned().collect()
    };
    let is_there = after.mcp.servers.iter().any(|server| server.name == change.name());
    let mut rest = before.clone();
    rest.mcp = after.mcp.clone();
    // Values of the server itself come and go.
    rest.secrets.clone_from(&after.secrets);
    rest == *after && others(before) == others(after) && is_there == matches!(change, McpChange::Put { .. })
}
