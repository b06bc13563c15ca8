//! `providers`: models in the oldest files.
//!
//! Those files name providers with keys, and one model for all agents. Each provider becomes a
//! model of the provider's name; the model's own provider is the default.

use super::models::keys;
use super::values::View;
use crate::config::check::Checker;
use crate::config::models::{DEFAULT_REQUEST_SECONDS, ModelConfig};

/// Prefixes of well-known models, and their providers.
const FAMILIES: &[(&str, &str)] = &[
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    ("glm", "zhipu"),
    ("kimi", "moonshot"),
    ("moonshot", "moonshot"),
    ("qwen", "qwen"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("doubao", "volcengine"),
];

/// The models of `providers`.
pub(super) fn models(root: &View<'_>, checker: &mut Checker<'_>) -> Vec<ModelConfig> {
    let defaults = root.section("agents").section("defaults");
    let providers = root.named("providers");
    let in_use = |view: &View<'_>| {
        !keys(view).is_empty() || view.text("api_base").is_some() || view.text("auth_method").is_some()
    };
    let used: Vec<_> = providers.into_iter().filter(|(_, view)| in_use(view)).collect();
    let owner = owner(&defaults, &used.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let mut models = Vec::new();
    for (name, view) in &used {
        let Some(model) = defaults.text("model_name").filter(|_| owner.as_deref() == Some(*name)) else {
            let text = format!("`providers.{name}` has no model; name one in `model_list` to use it");
            checker.report_notice(&view.origin("api_key"), text);
            continue;
        };
        models.push(model_of(name, model, view));
    }
    models
}

fn model_of(name: &str, model: &str, view: &View<'_>) -> ModelConfig {
    let prefix = format!("{name}/");
    ModelConfig {
        provider: Some(name.to_owned()),
        api_base: view.owned("api_base"),
        api_keys: keys(view),
        proxy: view.secret("proxy"),
        auth_method: view.owned("auth_method"),
        request_timeout: view.count_or("request_timeout", DEFAULT_REQUEST_SECONDS),
        ..ModelConfig::plain(name, model.strip_prefix(&prefix).unwrap_or(model))
    }
}

/// The provider of the file's model: by `provider`, by the model's name, or the only one.
fn owner(defaults: &View<'_>, used: &[&str]) -> Option<String> {
    let is_used = |name: &&str| used.contains(name);
    let said = defaults.text("provider").filter(is_used);
    let model = defaults.text("model_name").unwrap_or("");
    let prefixed = || model.split_once('/').map(|(prefix, _)| prefix).filter(is_used);
    let family =
        || FAMILIES.iter().find(|(start, _)| model.starts_with(start)).map(|(_, name)| *name).filter(is_used);
    let only = || if let [only] = used { Some(*only) } else { None };
    let relay = || used.iter().copied().find(|name| *name == "openrouter" && model.contains('/'));
    said.or_else(prefixed).or_else(family).or_else(only).or_else(relay).map(str::to_owned)
}

/// The default model: as the file names it, or the provider that it became.
pub(super) fn default_model(defaults: &View<'_>, models: &[ModelConfig]) -> Option<String> {
    let asked = defaults.owned("model_name")?;
    let named = models.iter().any(|model| model.name == asked);
    let became = models.iter().find(|model| {
        Some(model.name.as_str()) == model.provider.as_deref()
            && (model.model == asked || asked.strip_prefix(&format!("{}/", model.name)) == Some(&model.model))
    });
    match became {
        Some(model) if !named => Some(model.name.clone()),
        _ => Some(asked),
    }
}
