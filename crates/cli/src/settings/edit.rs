//! Changing the configuration file for the person who asked for it.
//!
//! One revision at a time: the file is read, changed and written under one lock. The new text is loaded before it is
//! written, with secrets and environment laid over it as at a start, and must mean what the old one did but for the change.
//!
//! Invariant: a text that would not load, or that changes anything else, is never written.

use super::edit_mcp::{self, Change, ChangeError};
use super::load::{Loaded, Request, SettingsError, load_as};
use super::process_env::Surroundings;
use picoclaw_policy::config::{Config, McpServerConfig};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::RootError;
use picoclaw_sandbox::shelf::{Shelf, ShelfError};
use std::time::Duration;

/// The name of the lock, among the instance's own files.
const LOCK: &str = "configuration.lock";

/// How long another revision is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviseError {
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
pub(crate) fn revise(
    loaded: &Loaded,
    surroundings: &Surroundings,
    instance: &Instance,
    change: &Change<'_>,
) -> Result<Loaded, ReviseError> {
    let _alone = Shelf::of_instance(instance.home())?.hold(LOCK, PATIENCE)?;
    let request = Request { config: Some(&loaded.config_path), surroundings };
    // Again, under the lock: somebody may have changed it since the start.
    let before = match load_as(&request, None) {
        Err(SettingsError::Missing(_)) => load_as(&request, Some("{}"))?,
        read => read?,
    };
    if !is_as_seen(&loaded.config, &before.config, change) {
        return Err(ReviseError::Meanwhile);
    }
    let text = edit_mcp::apply(before.text().unwrap_or_default(), change)?;
    let after = load_as(&request, Some(&text))?;
    if !is_alone(&before.config, &after.config, change) {
        return Err(ReviseError::Elsewhere);
    }
    instance.rewrite(&loaded.config_path, &text)?;
    Ok(after)
}

/// Whether what the change rests on is still so: that the server is there or not, and that it is the last one or not.
fn is_as_seen(seen: &Config, now: &Config, change: &Change<'_>) -> bool {
    let is_there = |config: &Config| config.mcp.servers.iter().any(|server| server.name == change.name());
    let is_last = |config: &Config| config.mcp.servers.len() == 1;
    is_there(seen) == is_there(now) && (matches!(change, Change::Put { .. }) || is_last(seen) == is_last(now))
}

/// Whether two configurations differ in nothing but the change.
fn is_alone(before: &Config, after: &Config, change: &Change<'_>) -> bool {
    let others = |config: &Config| -> Vec<McpServerConfig> {
        config.mcp.servers.iter().filter(|server| server.name != change.name()).cloned().collect()
    };
    let is_there = after.mcp.servers.iter().any(|server| server.name == change.name());
    let mut rest = before.clone();
    rest.mcp = after.mcp.clone();
    // Values of the server itself come and go.
    rest.secrets.clone_from(&after.secrets);
    rest == *after && others(before) == others(after) && is_there == matches!(change, Change::Put { .. })
}
