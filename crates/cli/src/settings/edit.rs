//! Edits of the configuration file.
//!
//! The file is read, changed and written under one lock. The new text is loaded before it is
//! written, with secrets and environment, and must differ from the old configuration only in the
//! requested change.

use super::edit_mcp::{self, ChangeError, McpChange};
use super::load::{Request, Settings, SettingsError, load_with_text};
use super::process_env::ProcessEnv;
use picoclaw_policy::config::{Config, McpServerConfig};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::RootError;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use std::time::Duration;

/// The lock file, in the instance's state directory.
pub(super) const LOCK_FILE: &str = "configuration.lock";

/// How long to wait for another edit.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The old or the new text does not load.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The text cannot be changed in place.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The new configuration would differ in something else.
    #[error("the edit would change other settings as well")]
    Elsewhere,
    /// The configuration changed since it was loaded.
    #[error("the MCP servers of the configuration have changed in the meantime; try again")]
    Meanwhile,
    /// The lock was not acquired.
    #[error(transparent)]
    Lock(#[from] StateError),
    /// The file was not written.
    #[error(transparent)]
    Write(#[from] RootError),
}

/// Makes one change to the configuration file, and returns the new settings.
pub(crate) fn edit_config(
    settings: &Settings,
    env: &ProcessEnv,
    instance: &Instance,
    change: &McpChange<'_>,
) -> Result<Settings, EditError> {
    let _alone = StateDir::of_instance(instance.home())?.lock(LOCK_FILE, LOCK_TIMEOUT)?;
    let request = Request { config: Some(&settings.config_path), env };
    // Loaded again under the lock: the file may have changed since the start.
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

/// Whether the premises of the change still hold: that the server exists or not, and that it is the
/// last one or not.
fn is_unchanged(seen: &Config, now: &Config, change: &McpChange<'_>) -> bool {
    let is_there = |config: &Config| config.mcp.servers.iter().any(|server| server.name == change.name());
    let is_last = |config: &Config| config.mcp.servers.len() == 1;
    is_there(seen) == is_there(now)
        && (matches!(change, McpChange::Put { .. }) || is_last(seen) == is_last(now))
}

/// Whether two configurations differ only in the change.
fn is_only_change(before: &Config, after: &Config, change: &McpChange<'_>) -> bool {
    let others = |config: &Config| -> Vec<McpServerConfig> {
        config.mcp.servers.iter().filter(|server| server.name != change.name()).cloned().collect()
    };
    let is_there = after.mcp.servers.iter().any(|server| server.name == change.name());
    let mut rest = before.clone();
    rest.mcp = after.mcp.clone();
    // The server's own secrets may change.
    rest.secrets.clone_from(&after.secrets);
    rest == *after && others(before) == others(after) && is_there == matches!(change, McpChange::Put { .. })
}
