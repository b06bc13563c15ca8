//! From an entry of the configuration to its provider. A key goes into one header of one endpoint.

use super::anthropic::Anthropic;
use super::http::{Endpoint, HttpProvider, Mode};
use super::model_error::ModelError;
use super::openai::OpenAi;
use super::protocol::ResolvedModel;
use super::provider::Provider;
use super::scripted::{Pace, Scripted};
use picoclaw_policy::config::{ModelConfig, Secret};
use std::path::Path;

pub(super) fn openai(
    entry: &ModelConfig,
    resolved: &ResolvedModel,
    key: Option<&Secret>,
) -> Result<Box<dyn Provider>, ModelError> {
    let own: Vec<_> =
        key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))).into_iter().collect();
    Ok(Box::new(HttpProvider {
        name: entry.name.clone(),
        endpoint: Endpoint::new(entry, &resolved.base, "/chat/completions", &own)?,
        format: OpenAi::new(entry, &resolved.id),
        mode: mode(entry),
    }))
}

pub(super) fn anthropic(
    entry: &ModelConfig,
    resolved: &ResolvedModel,
    key: Option<&Secret>,
) -> Result<Box<dyn Provider>, ModelError> {
    let mut own = vec![("anthropic-version", "2023-06-01".to_owned())];
    match (key, entry.auth_method.as_deref()) {
        (Some(key), Some("oauth" | "token")) => {
            own.push(("authorization", format!("Bearer {}", key.reveal())));
            own.push(("anthropic-beta", "oauth-2025-04-20".to_owned()));
        }
        (Some(key), _) => own.push(("x-api-key", key.reveal().to_owned())),
        (None, _) => {}
    }
    // `api_base` may or may not end in the version.
    let base = resolved.base.strip_suffix("/v1").unwrap_or(&resolved.base);
    Ok(Box::new(HttpProvider {
        name: entry.name.clone(),
        endpoint: Endpoint::new(entry, base, "/v1/messages", &own)?,
        format: Anthropic::new(entry, &resolved.id),
        mode: mode(entry),
    }))
}

/// Warns of settings that have no effect, or that are not safe.
pub(super) fn warn(entry: &ModelConfig, resolved: &ResolvedModel, key: Option<&Secret>) {
    if entry.thinking_level.as_deref().is_some_and(|level| level != "off") {
        tracing::warn!(target: "provider", model = %entry.name, "`thinking_level` is not passed on; what the model takes goes into `extra_body`");
    }
    let host =
        resolved.base.strip_prefix("http://").map(|rest| rest.split(['/', '?']).next().unwrap_or(rest));
    let is_here = |host: &str| ["localhost", "127.", "[::1]"].iter().any(|here| host.starts_with(here));
    if key.is_some() && host.is_some_and(|host| !is_here(host)) {
        tracing::warn!(target: "provider", model = %entry.name, "The key travels in clear: `api_base` is `http://` and not on this machine");
    }
}

fn mode(entry: &ModelConfig) -> Mode {
    if entry.streaming == Some(true) { Mode::Stream } else { Mode::Whole }
}

pub(super) fn scripted(entry: &ModelConfig) -> Result<Box<dyn Provider>, ModelError> {
    let path = entry.api_base.as_deref().and_then(|base| base.strip_prefix("file://"));
    match path.map(Path::new).filter(|path| path.is_absolute()) {
        Some(path) => {
            let pace = if entry.streaming == Some(true) { Pace::Words } else { Pace::Whole };
            Ok(Box::new(Scripted::new(&entry.name, path, pace)))
        }
        None => Err(ModelError::Unusable {
            name: entry.name.clone(),
            why: "a scripted model has an `api_base` such as `file:///home/me/replies.jsonl`".to_owned(),
        }),
    }
}
