//! From settings to whoever works for the gateway, at the start and at each reload.
//!
//! Invariant: a start and a reload compose the same way, and refuse the same things.

use super::address::Reach;
use crate::app;
use crate::commands::status::{self, StatusInput};
use crate::settings::{self, ProcessEnv, Request, Settings};
use anyhow::{Result, bail};
use picoclaw_agent::entrance::Token;
use picoclaw_agent::gateway::{Reload, Staff};
use picoclaw_policy::config::Config;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Shorter tokens could be tried out.
const SHORT: usize = 16;

/// What a reload goes by, beside the files.
#[derive(Clone)]
pub(super) struct Source {
    /// The configuration file that was asked for.
    pub(super) config: Option<PathBuf>,
    /// The token of this start, for when nobody chose one.
    pub(super) own: String,
    /// Who can reach the gateway.
    pub(super) reach: Reach,
}

impl Source {
    /// Makes a staff from what the files say then.
    pub(super) fn reload(&self) -> Reload {
        let source = self.clone();
        Arc::new(move || source.load().map_err(|why| format!("{why:#}")))
    }

    fn load(&self) -> Result<Staff> {
        let surroundings = ProcessEnv::of_process();
        let request = Request { config: self.config.as_deref(), env: &surroundings };
        let loaded = settings::load(&request)?;
        if self.reach == Reach::Others && loaded.config.gateway.token.is_none() {
            bail!("other machines can reach the gateway, and `gateway.token` is not set any more");
        }
        for warning in loaded.warnings() {
            tracing::warn!(target: "config", "{warning}");
        }
        staff(loaded, self)
    }
}

/// Whoever works under these settings.
pub(super) fn staff(mut loaded: Settings, source: &Source) -> Result<Staff> {
    let token = match chosen(&loaded.config)? {
        Some(token) => token,
        None => Token::new(&source.own)?,
    };
    // Whatever a tool says from here on, it does not say the token.
    loaded.config.secrets.push(source.own.clone());
    let company = app::services(&loaded)?;
    let config = Arc::new(loaded.config.clone());
    let facts = StatusInput::of(&loaded);
    let posture = move || status::status_json(&facts).unwrap_or_else(|why| json!({"error": why.to_string()}));
    Ok(Staff {
        runner: company.runner,
        hall: company.hall,
        models: company.models,
        config,
        instance: company.instance,
        token,
        posture: Arc::new(posture),
    })
}

/// The token that the operator chose.
pub(super) fn chosen(config: &Config) -> Result<Option<Token>> {
    let Some(secret) = &config.gateway.token else { return Ok(None) };
    let token = Token::chosen(secret.reveal()).map_err(|why| {
        anyhow::anyhow!("`gateway.token` cannot be used: {why}\nhint: make one with `openssl rand -hex 32`")
    })?;
    if secret.reveal().trim().len() < SHORT {
        tracing::warn!(target: "gateway", "`gateway.token` is short enough to be guessed; make one with `openssl rand -hex 32`");
    }
    Ok(Some(token))
}
