//! Everybody that a turn needs: tools behind the desk, models, sessions, and the loop between them.
//!
//! Invariant: composed in one place, so that every porch has the same company.

use super::house;
use crate::settings::Loaded;
use anyhow::{Context, Result};
use picoclaw_agent::hall::Hall;
use picoclaw_agent::providers::{Chain, Models, Request, Retry, Sink};
use picoclaw_agent::run::{Mind, Minds, NoMind, OnRetry, Runner, Thinking};
use picoclaw_agent::sessions::Sessions;
use picoclaw_policy::AgentId;
use picoclaw_sandbox::Redactor;
use std::sync::Arc;

/// The name of the embedded provider, which asks no model.
pub(crate) const DIRECT: &str = "direct";

/// Everybody.
pub(crate) struct Company {
    /// The tools, behind the desk.
    pub(crate) hall: Hall,
    /// The models.
    pub(crate) models: Models,
    /// What was said.
    pub(crate) sessions: Sessions,
    /// The loop.
    pub(crate) runner: Runner,
}

/// Composes everybody.
pub(crate) fn company(loaded: &Loaded) -> Result<Company> {
    let house = house(loaded)?;
    let hall = Hall::new(house.warden, house.registry);
    let models = Models::new(&loaded.config);
    let redactor = Redactor::new(&loaded.config.secrets);
    let sessions = Sessions::open(&loaded.home, redactor).context("could not open the sessions")?;
    let minds = Arc::new(Everyone(models.clone()));
    let runner = Runner::new(hall.clone(), Arc::new(loaded.config.clone()), minds);
    Ok(Company { hall, models, sessions, runner })
}

/// The loop alone, for a porch that needs nobody else.
pub(crate) fn runner(loaded: &Loaded) -> Result<Runner> {
    Ok(company(loaded)?.runner)
}

/// What turns wait in: one thread that waits, and others that work when a room is asked for something.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("could not start the runtime")
}

/// Every model, as the loop asks for one.
struct Everyone(Models);

impl Minds for Everyone {
    fn mind(&self, agent: &AgentId, asked: Option<&str>) -> Result<Box<dyn Mind>, NoMind> {
        match self.0.chain(agent, asked) {
            Ok(chain) => Ok(Box::new(One(chain))),
            Err(why) => Err(NoMind(why.to_string())),
        }
    }
}

/// One model and its stand-ins.
struct One(Chain);

impl Mind for One {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        sink: &'a mut dyn Sink,
        on_retry: OnRetry<'a>,
    ) -> Thinking<'a> {
        Box::pin(async move {
            let told = |retry: &Retry| on_retry(&format!("{}: {}", retry.model, retry.why), retry.wait);
            self.0.ask(request, sink, &told).await
        })
    }
}
