//! Writes a model into the configuration, and its key into the secrets file.

use super::edit::{EditError, LOCK_FILE, LOCK_TIMEOUT};
use super::edit_mcp::{self, ChangeError};
use super::file::read_text;
use super::load::{Request, Settings, load_with_text};
use super::process_env::ProcessEnv;
use picoclaw_policy::config::ModelConfig;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::state_dir::StateDir;
use serde_json::{Value, json};

/// Makes `model` the first entry of `model_list`, and returns the new settings. Its key goes into
/// `.security.yml`.
pub(crate) fn add_model(
    settings: &Settings,
    env: &ProcessEnv,
    instance: &Instance,
    model: &ModelConfig,
) -> Result<Settings, EditError> {
    let _alone = StateDir::of_instance(instance.home())?.lock(LOCK_FILE, LOCK_TIMEOUT)?;
    let request = Request { config: Some(&settings.config_path), env };
    let before = load_with_text(&request, None)?;
    let text = edit_mcp::with_model(before.text().unwrap_or("{}"), &entry(model))?;
    load_with_text(&request, Some(&text))?;
    if let Some(key) = model.api_keys.first() {
        let old = read_text(&settings.secrets_path).map_err(super::SettingsError::from)?;
        let secrets = with_key(old.map(|file| file.text).as_deref(), &model.name, key.reveal())?;
        instance.rewrite(&settings.secrets_path, &secrets)?;
    }
    instance.rewrite(&settings.config_path, &text)?;
    Ok(load_with_text(&request, None)?)
}

/// The entry of `model_list`, without its key.
fn entry(model: &ModelConfig) -> Value {
    let mut entry = json!({"model_name": model.name, "model": model.model});
    for (key, value) in [("provider", &model.provider), ("api_base", &model.api_base)] {
        if let Some(value) = value {
            entry[key] = Value::from(value.as_str());
        }
    }
    entry
}

/// The secrets file with the key of a model.
pub(super) fn with_key(old: Option<&str>, name: &str, key: &str) -> Result<String, ChangeError> {
    let old = old.unwrap_or_default();
    let has_models = old.lines().any(|line| line.starts_with("model_list"));
    let end = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    // JSON strings are YAML strings.
    let own = format!("  {}:\n    api_keys: [{}]\n", Value::from(name), Value::from(key));
    if !has_models {
        return Ok(format!("{old}{end}model_list:\n{own}"));
    }
    match old.split_once("model_list:\n") {
        Some((before, after)) if before.is_empty() || before.ends_with('\n') => {
            Ok(format!("{before}model_list:\n{own}{after}"))
        }
        _ => Err(ChangeError::Unreadable("`model_list` of the secrets file is not a block".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_beside_the_others() {
        let own = "  \"m\":\n    api_keys: [\"k\"]\n";
        for (why, old, want) in [
            ("no file", None, format!("model_list:\n{own}")),
            (
                "other secrets",
                Some("gateway:\n  token: t"),
                format!("gateway:\n  token: t\nmodel_list:\n{own}"),
            ),
            (
                "other models",
                Some("model_list:\n  a:\n    api_keys: [x]\n"),
                format!("model_list:\n{own}  a:\n    api_keys: [x]\n"),
            ),
        ] {
            assert_eq!(with_key(old, "m", "k").unwrap(), want, "{why}");
        }
        assert!(with_key(Some("model_list: {a: {api_keys: [x]}}\n"), "m", "k").is_err());
    }
}
