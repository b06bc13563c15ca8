//! `picoclaw onboard`: creates an instance. Existing files are not changed.

use crate::exit::Exit;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::Result;
use picoclaw_sandbox::instance::Created;

/// Creates the instance, and prints what exists now.
pub(crate) fn run(settings: &Settings) -> Result<Exit> {
    let instance = app::prepare_instance(settings)?;
    let config = match app::write_default_config(&instance, settings)? {
        Created::New => "written",
        Created::Existing => "kept as it is",
    };
    print::line(&format!("instance: {}", instance.home().display()))?;
    print::line(&format!("configuration: {} ({config})", settings.config_path.display()))?;
    for workspace in instance.workspaces() {
        print::line(&format!("workspace of {}: {}", workspace.agent, workspace.named))?;
    }
    print::line(
        "picoclaw is ready. Next: picoclaw tool list_dir '{}', picoclaw status, picoclaw config show",
    )?;
    Ok(Exit::Done)
}
