//! Everybody that a turn needs: tools behind the desk, models, sessions, and the loop between them.
//!
//! Invariant: composed in one place, so that every porch has the same company.

use super::{House, house, house_for_one_call};
use crate::settings::Loaded;
use anyhow::{Context, Result};
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::providers::Models;
use picoclaw_agent::run::Runner;
use picoclaw_agent::sessions::Sessions;
use picoclaw_agent::subagent;
use picoclaw_sandbox::instance::Instance;
use std::sync::Arc;

/// The name of the embedded provider, which asks no model.
pub(crate) const DIRECT: &str = "direct";

/// Everybody.
pub(crate) struct Company {
    /// The tools, behind the desk.
    pub(crate) hall: ToolExecutor,
    /// The models.
    pub(crate) models: Models,
    /// What was said.
    pub(crate) sessions: Sessions,
    /// The loop.
    pub(crate) runner: Runner,
    /// The instance they are in.
    pub(crate) instance: Instance,
}

/// Composes everybody.
pub(crate) fn company(loaded: &Loaded) -> Result<Company> {
    around(loaded, house(loaded)?)
}

fn around(loaded: &Loaded, house: House) -> Result<Company> {
    let hall = ToolExecutor::new(house.warden, house.registry);
    let models = Models::with_warden(&loaded.config, Arc::clone(hall.warden()));
    let config = Arc::new(loaded.config.clone());
    let runner = Runner::open(hall.clone(), config, models.clone(), &house.instance)?;
    subagent::install(&runner);
    let sessions = runner.sessions().clone();
    Ok(Company { hall, models, sessions, runner, instance: house.instance })
}

/// The same, for a program that lives for one turn.
pub(crate) fn company_for_one_turn(loaded: &Loaded) -> Result<Company> {
    around(loaded, house_for_one_call(loaded)?)
}

/// What turns wait in: one thread that waits, and others that work when a room is asked for something.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("could not start the runtime")
}
