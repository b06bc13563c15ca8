//! Builds the gateway's services from the settings, at the start and at each reload.

use super::address::Reach;
use crate::app;
use crate::commands::status::{self, StatusInput};
use crate::settings::{self, ProcessEnv, Request, Settings};
use anyhow::{Result, bail};
use picoclaw_agent::gateway::{Credentials, InstanceFiles, Reload, Services};
use picoclaw_agent::http_guard::{Strength, Token};
use picoclaw_policy::config::Config;
use picoclaw_sandbox::presence::random_token;
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What a reload needs besides the configuration files.
#[derive(Clone)]
pub(super) struct Source {
    /// The configuration file of the command line.
    pub(super) config: Option<PathBuf>,
    /// The token of the PID file.
    pub(super) generated: Arc<Mutex<GeneratedToken>>,
    /// From where the gateway can be reached.
    pub(super) reach: Reach,
}

/// The token of the PID file. It is replaced when `gateway.token` changes, so that replacing that
/// one leaves no older token valid.
pub(super) struct GeneratedToken {
    /// Its text.
    pub(super) text: String,
    /// The `gateway.token` that it goes with.
    pub(super) beside: Option<String>,
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
        check_token(&loaded.config, self.reach)?;
        for warning in loaded.warnings() {
            tracing::warn!(target: "config", "{warning}");
        }
        services(loaded, self)
    }

    /// The token of the PID file beside this configuration's `gateway.token`.
    fn generated_token(&self, config: &Config) -> Result<String> {
        let beside = config.gateway.token.as_ref().map(|secret| secret.reveal().to_owned());
        let mut generated = self.generated.lock().unwrap_or_else(PoisonError::into_inner);
        if generated.beside != beside {
            *generated = GeneratedToken { text: random_token()?, beside };
        }
        Ok(generated.text.clone())
    }
}

/// Builds the services for these settings.
pub(super) fn services(mut loaded: Settings, source: &Source) -> Result<Services> {
    let (configured, generated) =
        (configured_token(&loaded.config)?, source.generated_token(&loaded.config)?);
    // Redacts the token from every tool's output.
    loaded.config.secrets.push(generated.clone());
    let services = app::services(&loaded)?;
    let config = Arc::new(loaded.config.clone());
    let facts = StatusInput::of(&loaded);
    let posture = move || status::status_json(&facts).unwrap_or_else(|why| json!({"error": why.to_string()}));
    let instance_files = match services.executor.warden().exec_env().hides_instance() {
        true => InstanceFiles::Hidden,
        false => InstanceFiles::Readable,
    };
    if instance_files == InstanceFiles::Readable {
        tracing::warn!(target: "gateway", "Commands can read the PID file and `.security.yml`, so their tokens do not approve; make one with `picoclaw token add NAME --scope watch,approve`");
    }
    Ok(Services {
        runner: services.runner,
        executor: services.executor,
        models: services.models,
        config,
        instance: services.instance,
        credentials: Credentials { pid_file_token: generated, configured, instance_files },
        posture: Arc::new(posture),
    })
}

/// Refuses a configuration whose `gateway.token` does not suit the reach.
pub(super) fn check_token(config: &Config, reach: Reach) -> Result<()> {
    let token = configured_token(config)?;
    match token.map(|token| token.strength()) {
        _ if reach == Reach::Loopback => Ok(()),
        Some(Strength::Strong) => Ok(()),
        None => bail!(
            "other machines can reach the gateway, and `gateway.token` is not set\n\
             hint: put a token into `.security.yml` (gateway: {{token: …}}) or `PICOCLAW_GATEWAY_TOKEN`, or listen on localhost"
        ),
        Some(Strength::Guessable) => bail!(
            "other machines can reach the gateway, and `gateway.token` could be guessed\n\
             hint: take at least 16 characters, such as those of `openssl rand -hex 32`, or listen on localhost"
        ),
    }
}

/// The token of the configuration.
fn configured_token(config: &Config) -> Result<Option<Token>> {
    let Some(secret) = &config.gateway.token else { return Ok(None) };
    let token = Token::chosen(secret.reveal()).map_err(|why| {
        anyhow::anyhow!("`gateway.token` cannot be used: {why}\nhint: make one with `openssl rand -hex 32`")
    })?;
    if token.strength() == Strength::Guessable {
        tracing::warn!(target: "gateway", "`gateway.token` can be guessed; make one with `openssl rand -hex 32`");
    }
    Ok(Some(token))
}
