//! Builds the gateway's services from the settings, at the start and at each reload.

use super::address::Reach;
use crate::app;
use crate::commands::status::{self, StatusInput};
use crate::settings::{self, ProcessEnv, Request, Settings};
use anyhow::{Result, bail};
use picoclaw_agent::gateway::{Reload, Services};
use picoclaw_agent::http_guard::Token;
use picoclaw_policy::config::Config;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Shorter tokens could be guessed.
const MIN_SAFE_TOKEN: usize = 16;

/// What a reload needs besides the configuration files.
#[derive(Clone)]
pub(super) struct Source {
    /// The configuration file of the command line.
    pub(super) config: Option<PathBuf>,
    /// The token generated at the start, used when none is configured.
    pub(super) generated_token: String,
    /// From where the gateway can be reached.
    pub(super) reach: Reach,
}

impl Source {
    /// A function that builds the services from the files as they are when it is called.
    pub(super) fn reload(&self) -> Reload {
        let source = self.clone();
        Arc::new(move || source.load().map_err(|why| format!("{why:#}")))
    }

    fn load(&self) -> Result<Services> {
        let process_env = ProcessEnv::of_process();
        let request = Request { config: self.config.as_deref(), env: &process_env };
        let loaded = settings::load(&request)?;
        if self.reach == Reach::Network && loaded.config.gateway.token.is_none() {
            bail!("other machines can reach the gateway, and `gateway.token` is not set any more");
        }
        for warning in loaded.warnings() {
            tracing::warn!(target: "config", "{warning}");
        }
        services(loaded, self)
    }
}

/// Builds the services for these settings.
pub(super) fn services(mut loaded: Settings, source: &Source) -> Result<Services> {
    let token = match configured_token(&loaded.config)? {
        Some(token) => token,
        None => Token::new(&source.generated_token)?,
    };
    // Redacts the token from every tool's output.
    loaded.config.secrets.push(source.generated_token.clone());
    let services = app::services(&loaded)?;
    let config = Arc::new(loaded.config.clone());
    let facts = StatusInput::of(&loaded);
    let posture = move || status::status_json(&facts).unwrap_or_else(|why| json!({"error": why.to_string()}));
    Ok(Services {
        runner: services.runner,
        executor: services.executor,
        models: services.models,
        config,
        instance: services.instance,
        token,
        posture: Arc::new(posture),
    })
}

/// The token of the configuration.
pub(super) fn configured_token(config: &Config) -> Result<Option<Token>> {
    let Some(secret) = &config.gateway.token else { return Ok(None) };
    let token = Token::chosen(secret.reveal()).map_err(|why| {
        anyhow::anyhow!("`gateway.token` cannot be used: {why}\nhint: make one with `openssl rand -hex 32`")
    })?;
    if secret.reveal().trim().len() < MIN_SAFE_TOKEN {
        tracing::warn!(target: "gateway", "`gateway.token` is short enough to be guessed; make one with `openssl rand -hex 32`");
    }
    Ok(Some(token))
}
