//! From an entry of the configuration to the provider that speaks for it.
//!
//! Invariant: a key goes into one header of one peer, and nowhere else.

use super::anthropic::Anthropic;
use super::http::{Mode, Peer, Spoken};
use super::model_error::ModelError;
use super::openai::OpenAi;
use super::protocol::Meaning;
use super::provider::Provider;
use super::scripted::{Pace, Scripted};
use picoclaw_policy::config::{ModelConfig, Secret};
use std::path::Path;

pub(super) fn openai(
    entry: &ModelConfig,
    meaning: &Meaning,
    key: Option<&Secret>,
) -> Result<Box<dyn Provider>, ModelError> {
    let own: Vec<_> =
        key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))).into_iter().collect();
    Ok(Box::new(Spoken {
        name: entry.name.clone(),
        peer: Peer::new(entry, &meaning.base, "/chat/completions", &own)?,
        dialect: OpenAi::new(entry, &meaning.id),
        mode: mode(entry),
    }))
}

pub(super) fn anthropic(
    entry: &ModelConfig,
    meaning: &Meaning,
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
    // People write the address with and without its version.
    let base = meaning.base.strip_suffix("/v1").unwrap_or(&meaning.base);
    Ok(Box::new(Spoken {
        name: entry.name.clone(),
        peer: Peer::new(entry, base, "/v1/messages", &own)?,
        dialect: Anthropic::new(entry, &meaning.id),
        mode: mode(entry),
    }))
}

/// Says what an operator would want to know about an entry that is about to be used.
pub(super) fn advise(entry: &ModelConfig, meaning: &Meaning, key: Option<&Secret>) {
    if entry.thinking_level.as_deref().is_some_and(|level| level != "off") {
        tracing::warn!(target: "provider", model = %entry.name, "`thinking_level` is not passed on; what the model takes goes into `extra_body`");
    }
    let host = meaning.base.strip_prefix("http://").map(|rest| rest.split(['/', '?']).next().unwrap_or(rest));
    let is_here = |host: &str| ["localhost", "127.", "[::1]"].iter().any(|here| host.starts_with(here));
    if key.is_some() && host.is_some_and(|host| !is_here(host)) {
        tracing::warn!(target: "provider", model = %entry.name, "The key travels in clear: `api_base` is `http://` and not on this machine");
    }
}

fn mode(entry: &ModelConfig) -> Mode {
    if entry.streaming { Mode::Stream } else { Mode::Whole }
}

pub(super) fn scripted(entry: &ModelConfig) -> Result<Box<dyn Provider>, ModelError> {
    let path = entry.api_base.as_deref().and_then(|base| base.strip_prefix("file://"));
    match path.map(Path::new).filter(|path| path.is_absolute()) {
        Some(path) => {
            let pace = if entry.streaming { Pace::Words } else { Pace::Whole };
            Ok(Box::new(Scripted::new(&entry.name, path, pace)))
        }
        None => Err(ModelError::Unusable {
            name: entry.name.clone(),
            why: "a scripted model has an `api_base` such as `file:///home/me/replies.jsonl`".to_owned(),
        }),
    }
}
