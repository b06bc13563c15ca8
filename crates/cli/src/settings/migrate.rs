//! Adapts the files of a PicoClaw home: names isolation, makes `providers` entries of `model_list`,
//! and moves keys of models into the secrets file.

use super::edit::{EditError, LOCK_FILE, LOCK_TIMEOUT};
use super::edit_mcp;
use super::edit_model::with_key;
use super::file::read_text;
use super::load::{Request, Settings, SettingsError, load_with_text};
use super::process_env::ProcessEnv;
use picoclaw_policy::config::{Config, ModelConfig, ShownKey};
use picoclaw_sandbox::instance::{Created, Instance};
use picoclaw_sandbox::state_dir::StateDir;
use std::path::Path;

/// The result.
pub(crate) enum Migration {
    /// Nothing had to be changed.
    Nothing,
    /// The files were changed.
    Written {
        /// The copies of the files as they were.
        copies: Vec<String>,
        /// The providers that became models.
        providers: Vec<String>,
        /// How many models had their keys moved.
        moved: usize,
    },
}

/// The models of `providers` that can become entries of `model_list`: all that the file alone
/// describes.
pub(crate) fn movable_providers(settings: &Settings) -> Vec<ModelConfig> {
    let file = format!("{}:", settings.config_path.display());
    let rows = settings.show();
    let named = |row: &&ShownKey| row.key.starts_with("providers.") && row.origin != "default";
    let is_elsewhere = |row: &ShownKey| !row.origin.starts_with(&file);
    let has_models = rows.iter().any(|row| row.key.starts_with("model_list["));
    if has_models || rows.iter().filter(named).any(is_elsewhere) {
        return Vec::new();
    }
    let models = settings.config.models.iter();
    models.filter(|model| model.provider.as_ref() == Some(&model.name)).cloned().collect()
}

/// Names `isolation.enabled`, if a value is given, and moves models and keys. Nothing else may
/// change.
pub(crate) fn migrate(
    settings: &Settings,
    env: &ProcessEnv,
    instance: &Instance,
    isolation: Option<bool>,
) -> Result<Migration, EditError> {
    let _alone = StateDir::of_instance(instance.home())?.lock(LOCK_FILE, LOCK_TIMEOUT)?;
    let request = Request { config: Some(&settings.config_path), env };
    let before = load_with_text(&request, None)?;
    let old_text = before.text().unwrap_or_default().to_owned();
    let providers = movable_providers(&before);
    let (text, keys) = edit_mcp::migrated(&old_text, isolation, &providers)?;
    if text == old_text {
        return Ok(Migration::Nothing);
    }
    let old_secrets = read_text(&settings.secrets_path).map_err(SettingsError::from)?.map(|file| file.text);
    let mut secrets = old_secrets.clone();
    for (name, values) in &keys {
        for key in values.iter().rev() {
            secrets = Some(with_key(secrets.as_deref(), name, key)?);
        }
    }
    let mut copies = vec![copy(instance, &settings.config_path, &old_text)?];
    if let Some(old) = old_secrets.as_ref().filter(|old| secrets.as_ref() != Some(old)) {
        copies.push(copy(instance, &settings.secrets_path, old)?);
    }
    if let Some(new) = secrets.as_ref().filter(|_| secrets != old_secrets) {
        instance.rewrite(&settings.secrets_path, new)?;
    }
    let after = load_with_text(&request, Some(&text));
    if after.as_ref().ok().is_none_or(|after| !is_same(&before.config, &after.config)) {
        // The secrets file is as it was; what did not exist stays empty.
        if secrets != old_secrets {
            instance.rewrite(&settings.secrets_path, old_secrets.as_deref().unwrap_or_default())?;
        }
        after?;
        return Err(EditError::Elsewhere);
    }
    instance.rewrite(&settings.config_path, &text)?;
    let providers = providers.into_iter().map(|model| model.name).collect();
    Ok(Migration::Written { copies, providers, moved: keys.len() })
}

/// A copy beside the file, under the first name that is free.
fn copy(instance: &Instance, path: &Path, text: &str) -> Result<String, EditError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1.. {
        let copy = format!("{name}.bak-{number}");
        if instance.create_file(&copy, text)? == Created::New {
            return Ok(instance.home().join(copy).display().to_string());
        }
    }
    Err(EditError::Elsewhere)
}

/// Whether two configurations differ in isolation alone.
fn is_same(before: &Config, after: &Config) -> bool {
    let mut rest = before.clone();
    rest.isolation.enabled = after.isolation.enabled;
    let sorted = |config: &Config| {
        let mut secrets = config.secrets.clone();
        secrets.sort();
        secrets
    };
    let same_secrets = sorted(before) == sorted(after);
    rest.secrets.clone_from(&after.secrets);
    same_secrets && rest == *after
}
