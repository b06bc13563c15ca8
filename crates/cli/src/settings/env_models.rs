//! Models of a configuration that has none: by the keys that other programs read from the
//! environment.

use super::load::SettingsError;
use super::process_env::ProcessEnv;
use picoclaw_policy::config::{Config, ModelConfig, Secret};

/// A provider whose key the environment may hold.
pub(crate) struct EnvProvider {
    /// The protocol.
    pub(crate) name: &'static str,
    /// The beginning of its variables: `<prefix>_API_KEY`, `<prefix>_BASE_URL`, `<prefix>_MODEL`.
    prefix: &'static str,
    /// The model without `<prefix>_MODEL`.
    pub(crate) model: &'static str,
}

/// The providers; the first one with a key is the default.
pub(crate) const PROVIDERS: [EnvProvider; 2] = [
    EnvProvider { name: "anthropic", prefix: "ANTHROPIC", model: "claude-sonnet-4-5" },
    EnvProvider { name: "openai", prefix: "OPENAI", model: "gpt-4.1" },
];

/// A model by the environment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EnvModel {
    /// Its entry.
    pub(crate) entry: ModelConfig,
    /// The variable that it is there for.
    pub(crate) variable: String,
}

impl EnvProvider {
    /// The model of this provider, if the environment has a key or an address.
    fn model(&self, env: &ProcessEnv) -> Result<Option<EnvModel>, SettingsError> {
        let text = |suffix: &str| {
            let name = format!("{}_{suffix}", self.prefix);
            let value = env.variable(&name).map(|value| value.to_str().map(str::trim));
            match value {
                Some(None) => Err(SettingsError::Variable(name)),
                other => Ok(other.flatten().filter(|value| !value.is_empty()).map(|value| (name, value))),
            }
        };
        let (key, base) = (text("API_KEY")?, text("BASE_URL")?);
        let Some((variable, _)) = key.as_ref().or(base.as_ref()) else { return Ok(None) };
        let model = text("MODEL")?.map_or(self.model, |(_, model)| model);
        let entry = ModelConfig {
            provider: Some(self.name.to_owned()),
            api_base: base.as_ref().map(|(_, base)| (*base).to_owned()),
            api_keys: key.iter().map(|(_, key)| Secret::new(*key)).collect(),
            ..ModelConfig::plain(model, model)
        };
        Ok(Some(EnvModel { entry, variable: variable.clone() }))
    }
}

/// The models that the environment names.
pub(crate) fn env_models(env: &ProcessEnv) -> Result<Vec<EnvModel>, SettingsError> {
    PROVIDERS.iter().filter_map(|provider| provider.model(env).transpose()).collect()
}

/// Adds the models of the environment to a configuration without any, and returns them.
pub(super) fn add(config: &mut Config, env: &ProcessEnv) -> Result<Vec<EnvModel>, SettingsError> {
    if !config.models.is_empty() {
        return Ok(Vec::new());
    }
    let found = env_models(env)?;
    for model in &found {
        config.models.push(model.entry.clone());
        let keys = model.entry.api_keys.iter().map(|key| key.reveal().to_owned());
        config.secrets.extend(keys);
    }
    // The longest first, so that redaction leaves no tail of a longer one.
    config.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(variables: &[(&str, &str)]) -> Vec<(String, Option<String>, String)> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let env = ProcessEnv { variables, ..ProcessEnv::default() };
        let shown = |model: EnvModel| (model.entry.model, model.entry.api_base, model.variable);
        env_models(&env).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn a_key_or_an_address_is_a_model() {
        let [anthropic, openai] = PROVIDERS.map(|provider| provider.model.to_owned());
        assert_eq!(models(&[]), []);
        assert_eq!(models(&[("OPENAI_API_KEY", "")]), [], "an empty variable is none");
        assert_eq!(models(&[("OPENAI_MODEL", "m")]), [], "a name alone reaches nothing");
        assert_eq!(models(&[("OPENAI_API_KEY", "k")]), [(openai.clone(), None, "OPENAI_API_KEY".into())]);
        assert_eq!(
            models(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]),
            [(anthropic, None, "ANTHROPIC_API_KEY".into()), (openai, None, "OPENAI_API_KEY".into())],
        );
        assert_eq!(
            models(&[("OPENAI_BASE_URL", "http://localhost:1/v1"), ("OPENAI_MODEL", "m")]),
            [("m".into(), Some("http://localhost:1/v1".into()), "OPENAI_BASE_URL".into())],
        );
    }
}
