//! Which model: what was found, what a person types, or what the flags say.

use super::read_line;
use crate::arguments::OnboardArguments;
use crate::console::InputModes;
use crate::print;
use crate::settings::{ProcessEnv, env_models};
use anyhow::{Context, Result, ensure};
use picoclaw_agent::providers::LocalServer;
use picoclaw_policy::config::{ModelConfig, Secret};
use picoclaw_sandbox::printable;

/// What a person chose.
pub(super) enum Choice {
    /// This model.
    Model(Box<ModelConfig>),
    /// No model.
    Nothing,
}

/// A model that can be chosen by a number.
pub(super) struct Offer {
    model: ModelConfig,
    /// Where it was found.
    found: String,
}

/// The models of the environment and of the servers on this machine.
pub(super) fn offers(env: &ProcessEnv, servers: Vec<LocalServer>) -> Result<Vec<Offer>> {
    let by_key = env_models(env)?
        .into_iter()
        .map(|found| Offer { found: format!("{} in the environment", found.variable), model: found.entry });
    let local = servers.into_iter().flat_map(|server| {
        let LocalServer { provider, port, models } = server;
        models.into_iter().map(move |id| Offer {
            found: format!("{provider} on port {port}"),
            model: ModelConfig { provider: Some(provider.to_owned()), ..ModelConfig::plain(id.clone(), id) },
        })
    });
    Ok(by_key.chain(local).collect())
}

/// Asks a person which one.
pub(super) fn ask(offers: &[Offer]) -> Result<Choice> {
    let width = offers.iter().map(|offer| offer.model.name.chars().count()).max().unwrap_or(0);
    if offers.is_empty() {
        print::line("nothing was found")?;
    }
    for (index, offer) in offers.iter().enumerate() {
        let line = format!("  {}  {:<width$}  {}", index + 1, offer.model.name, offer.found);
        print::line(&printable(&line))?;
    }
    print::line("  o  another provider, with a key")?;
    print::line("  n  no model for now")?;
    loop {
        let default = if offers.is_empty() { "n" } else { "1" };
        let Some(line) = read_line(&format!("Which model? [{default}] "))? else {
            return Ok(Choice::Nothing);
        };
        let line = if line.is_empty() { default } else { &line };
        match line {
            "n" => return Ok(Choice::Nothing),
            "o" => {
                if let Some(model) = ask_other()? {
                    return Ok(Choice::Model(Box::new(model)));
                }
            }
            number => {
                let chosen =
                    number.parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
                if let Some(offer) = chosen {
                    return Ok(Choice::Model(Box::new(offer.model.clone())));
                }
            }
        }
    }
}

/// A provider that was not found: its model, its key.
fn ask_other() -> Result<Option<ModelConfig>> {
    let prompt =
        "Provider and model, such as `openrouter/qwen/qwen3-coder` or `groq/llama-3.3-70b-versatile`: ";
    let Some(id) = read_line(prompt)?.filter(|id| !id.is_empty()) else { return Ok(None) };
    // A key must not go to a provider that was not named.
    if !id.contains('/') {
        print::line("a provider and a model, please, with `/` between them")?;
        return Ok(None);
    }
    let Some(key) = read_secret("Key (it is not shown; empty for none): ")? else { return Ok(None) };
    let keys = if key.is_empty() { Vec::new() } else { vec![Secret::new(key)] };
    Ok(Some(ModelConfig { api_keys: keys, ..named(&id) }))
}

/// The model that the flags name.
pub(super) fn of_arguments(arguments: &OnboardArguments, env: &ProcessEnv) -> Result<ModelConfig> {
    let id = arguments.model.as_deref().unwrap_or_default();
    ensure!(!id.trim().is_empty(), "`--model` needs an id, such as `openai/gpt-4.1`");
    let known = env_models(env)?.into_iter().find(|known| {
        let provider = known.entry.provider.as_deref().unwrap_or_default();
        id.split_once('/').is_some_and(|(name, _)| name == provider)
    });
    let keys = match &arguments.key_env {
        Some(name) => {
            let value = env.variable(name).and_then(|value| value.to_str());
            let value = value.with_context(|| format!("`--key-env {name}`: it is not set"))?;
            vec![Secret::new(value.trim())]
        }
        None => known.as_ref().map(|known| known.entry.api_keys.clone()).unwrap_or_default(),
    };
    let api_base = arguments.api_base.clone().or_else(|| known.and_then(|known| known.entry.api_base));
    Ok(ModelConfig { api_keys: keys, api_base, ..named(id) })
}

/// The model of an id, called by the last part of it.
fn named(id: &str) -> ModelConfig {
    let id = id.trim();
    let name = id.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(id);
    ModelConfig::plain(name, id)
}

/// Reads a line that the terminal does not show.
fn read_secret(prompt: &str) -> Result<Option<String>> {
    let found = InputModes::now().context("could not read the terminal's settings")?;
    found.hide_input().context("could not hide what is typed")?;
    let line = read_line(prompt);
    found.restore();
    print::line("")?;
    line
}
