//! `picoclaw onboard`: makes an instance.
//!
//! Invariant: nothing that is there already is changed.

use crate::exit::Exit;
use crate::settings::Loaded;
use crate::{app, print};
use anyhow::Result;
use picoclaw_sandbox::instance::Planted;

/// Makes the instance, and says what is there now.
pub(crate) fn run(loaded: &Loaded) -> Result<Exit> {
    let instance = app::prepare(loaded)?;
    let config = match app::furnish(&instance, loaded)? {
        Planted::New => "written",
        Planted::Kept => "kept as it is",
    };
    print::line(&format!("instance: {}", instance.home().display()))?;
    print::line(&format!("configuration: {} ({config})", loaded.config_path.display()))?;
    for workspace in instance.workspaces() {
        print::line(&format!("workspace of {}: {}", workspace.agent, workspace.named))?;
    }
    print::line(
        "picoclaw is ready. Next: picoclaw tool list_dir '{}', picoclaw status, picoclaw config show",
    )?;
    Ok(Exit::Done)
}
