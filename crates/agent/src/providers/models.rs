//! The models of the configuration, and the resolution of names.

use super::build::{anthropic, openai, scripted, warn};
use super::candidate::Candidate;
use super::cli::{Claude, CliFormat, CliProvider, Codex};
use super::direct::Direct;
use super::fallback::{FallbackChain, Group, RetryPolicy};
use super::model_error::ModelError;
use super::protocol::{self, Key, ProtocolError, Wire};
use super::provider::Provider;
use super::rate_limit::RateLimit;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{AgentConfig, Config, ModelConfig, Secret, TurnConfig};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::warden::Warden;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All models. Clones share cooldowns and limits.
#[derive(Clone)]
pub struct Models(Arc<Inner>);

struct Inner {
    entries: Vec<Entry>,
    agents: Vec<AgentConfig>,
    turns: TurnConfig,
    redactor: Redactor,
    warden: Option<Arc<Warden>>,
    /// Providers that no entry configures, by their own names. The first is asked when no model is
    /// configured.
    built_in: Vec<Arc<Candidate>>,
    /// Candidates that were used before, by entry and key.
    candidates: Mutex<BTreeMap<(usize, usize), Arc<Candidate>>>,
}

struct Entry {
    config: ModelConfig,
    rate_limit: Arc<RateLimit>,
    next: Arc<AtomicUsize>,
}

impl Models {
    /// The models of a configuration, except command-line ones. Nothing connects before the first
    /// request.
    pub fn new(config: &Config) -> Self {
        Self::build(config, None, vec![Box::new(Direct::default())])
    }

    /// The models of a configuration, and these providers under their own names instead of
    /// `direct`.
    pub fn with_providers(config: &Config, providers: Vec<Box<dyn Provider>>) -> Self {
        Self::build(config, None, providers)
    }

    /// The same, with a warden that starts the programs of command-line models.
    pub fn with_warden(config: &Config, warden: Arc<Warden>) -> Self {
        Self::build(config, Some(warden), vec![Box::new(Direct::default())])
    }

    fn build(config: &Config, warden: Option<Arc<Warden>>, built_in: Vec<Box<dyn Provider>>) -> Self {
        let entry = |config: &ModelConfig| Entry {
            rate_limit: Arc::new(RateLimit::new(config.rpm)),
            config: config.clone(),
            next: Arc::default(),
        };
        let candidate =
            |provider| Arc::new(Candidate::new(provider, String::new(), Arc::new(RateLimit::new(0))));
        Self(Arc::new(Inner {
            entries: config.models.iter().map(entry).collect(),
            agents: config.agents.clone(),
            turns: config.turns.clone(),
            redactor: Redactor::new(&config.secrets),
            warden,
            built_in: built_in.into_iter().map(candidate).collect(),
            candidates: Mutex::default(),
        }))
    }

    /// The chain for an agent's turn: the requested model, else the agent's, else the default.
    pub fn chain(&self, agent: &AgentId, asked: Option<&str>) -> Result<FallbackChain, ModelError> {
        let inner = &*self.0;
        let own = inner.agents.iter().find(|known| known.id == *agent);
        let agents_model = own.and_then(|own| own.model.as_deref());
        let first = inner.entries.first().map(|entry| entry.config.name.as_str());
        let built_in = inner.built_in.first().map(|candidate| candidate.provider.model());
        let name = asked.or(agents_model).or(inner.turns.model.as_deref()).or(first).or(built_in);
        let name = name.unwrap_or_default();
        let mut names = vec![name.to_owned()];
        // Fallbacks belong to the model they are configured for; a requested model has only its
        // own.
        let fallbacks = match (agents_model, own) {
            (Some(model), Some(own)) if model == name && !own.model_fallbacks.is_empty() => {
                &own.model_fallbacks[..]
            }
            _ if asked.is_none() || asked == inner.turns.model.as_deref() => &inner.turns.model_fallbacks,
            _ => &[],
        };
        for entry in inner.find(name) {
            names.extend(inner.entries[entry].config.fallbacks.iter().cloned());
        }
        names.extend(fallbacks.iter().cloned());
        let mut seen = Vec::new();
        let mut groups = Vec::new();
        for name in names {
            if !seen.contains(&name) {
                groups.push(inner.group(&name)?);
                seen.push(name);
            }
        }
        let retry_policy = RetryPolicy {
            retries: inner.turns.max_llm_retries,
            backoff: Duration::from_secs(inner.turns.llm_retry_backoff_secs),
        };
        Ok(FallbackChain { groups, retry_policy, redactor: inner.redactor.clone() })
    }

    /// Why models of the configuration cannot be used: entries of an unknown protocol or without a
    /// key, and names that no entry has. Nothing is started or asked.
    pub fn faults(&self) -> Vec<ModelError> {
        let inner = &*self.0;
        let mut faults = Vec::new();
        for entry in &inner.entries {
            let name = || entry.config.name.clone();
            match protocol::resolve(&entry.config, inner.turns.provider.as_deref()) {
                Err(ProtocolError(protocol)) => faults.push(ModelError::Protocol { name: name(), protocol }),
                Ok(resolved) if resolved.key == Key::Required && entry.config.api_keys.is_empty() => {
                    faults.push(ModelError::NoKey { name: name() });
                }
                Ok(_) => {}
            }
        }
        let entries = inner.entries.iter().flat_map(|entry| &entry.config.fallbacks);
        let agents = inner
            .agents
            .iter()
            .flat_map(|own| own.model.iter().chain(&own.model_fallbacks).chain(&own.subagent_model));
        let defaults = inner.turns.model.iter().chain(&inner.turns.model_fallbacks);
        let mut names: Vec<&String> = entries.chain(agents).chain(defaults).collect();
        names.sort();
        names.dedup();
        let is_known = |name: &str| {
            !inner.find(name).is_empty() || inner.built_in.iter().any(|known| known.provider.model() == name)
        };
        let unknown = names.into_iter().filter(|name| !is_known(name));
        faults.extend(unknown.map(|name| ModelError::Unknown { name: name.clone(), known: inner.names() }));
        faults
    }

    /// The names of the models, in the order of the file, each once.
    pub fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

impl Inner {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in &self.entries {
            if !names.contains(&entry.config.name) {
                names.push(entry.config.name.clone());
            }
        }
        names
    }

    /// The entries of a name: by `model_name`, else by the model's id.
    fn find(&self, name: &str) -> Vec<usize> {
        let all = |fits: &dyn Fn(&ModelConfig) -> bool| -> Vec<usize> {
            let hits = self.entries.iter().enumerate().filter(|(_, entry)| fits(&entry.config));
            hits.map(|(index, _)| index).collect()
        };
        let named = all(&|entry| entry.name == name);
        if !named.is_empty() {
            return named;
        }
        all(&|entry| {
            let full = entry.provider.as_ref().map(|provider| format!("{provider}/{}", entry.model));
            entry.model == name || full.as_deref() == Some(name)
        })
    }

    fn group(&self, name: &str) -> Result<Group, ModelError> {
        let found = self.find(name);
        let Some(first) = found.first() else {
            if let Some(known) = self.built_in.iter().find(|candidate| candidate.provider.model() == name) {
                return Ok(Group { entries: vec![vec![Arc::clone(known)]], next: Arc::default() });
            }
            return Err(ModelError::Unknown { name: name.to_owned(), known: self.names() });
        };
        let next = Arc::clone(&self.entries[*first].next);
        let entries = found.iter().map(|index| self.keys(*index)).collect::<Result<_, _>>()?;
        Ok(Group { entries, next })
    }

    /// The candidates of one entry: one for each key.
    fn keys(&self, index: usize) -> Result<Vec<Arc<Candidate>>, ModelError> {
        let entry = &self.entries[index];
        let count = entry.config.api_keys.len().max(1);
        let mut candidates = self.candidates.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count)
            .map(|key| {
                if let Some(known) = candidates.get(&(index, key)) {
                    return Ok(Arc::clone(known));
                }
                let provider = self.provider(&entry.config, entry.config.api_keys.get(key))?;
                let mark = if count > 1 { format!(" (key {})", key + 1) } else { String::new() };
                let candidate = Arc::new(Candidate::new(provider, mark, Arc::clone(&entry.rate_limit)));
                candidates.insert((index, key), Arc::clone(&candidate));
                Ok(candidate)
            })
            .collect()
    }

    fn provider(&self, entry: &ModelConfig, key: Option<&Secret>) -> Result<Box<dyn Provider>, ModelError> {
        let resolved = protocol::resolve(entry, self.turns.provider.as_deref())
            .map_err(|ProtocolError(protocol)| ModelError::Protocol { name: entry.name.clone(), protocol })?;
        if key.is_none() && resolved.key == Key::Required {
            return Err(ModelError::NoKey { name: entry.name.clone() });
        }
        warn(entry, &resolved, key);
        match resolved.wire {
            Wire::Direct => Ok(Box::new(Direct::default())),
            Wire::Scripted => scripted(entry),
            Wire::OpenAi => openai(entry, &resolved, key),
            Wire::Anthropic => anthropic(entry, &resolved, key),
            Wire::ClaudeCli => self.command_line(entry, Claude::new(&resolved.id)),
            Wire::CodexCli => self.command_line(entry, Codex::new(&resolved.id)),
        }
    }

    fn command_line<T: CliFormat + 'static>(
        &self,
        entry: &ModelConfig,
        format: T,
    ) -> Result<Box<dyn Provider>, ModelError> {
        let warden = self.warden.clone().ok_or_else(|| ModelError::Unusable {
            name: entry.name.clone(),
            why: "nothing can be started here, and it is a program".to_owned(),
        })?;
        Ok(Box::new(CliProvider::new(entry, format, warden)))
    }
}
