//! Loads the settings: which files, in which order. Nothing is written back (W83).

use super::credential::Credentials;
use super::env_models::{self, EnvModel};
use super::file::{FileError, MAX_FILE_SIZE, TextFile, read_text};
use super::helper_check::RefusedHelpers;
use super::process_env::{Home, ProcessEnv};
use super::{workspace_check, yaml};
use crate::platform;
use picoclaw_policy::config::{
    Config, ConfigError, ConfigTree, FenceMode, Layers, McpTransport, ShownKey, Sources, WorkspaceFault,
    merge_layers, reminders, warnings,
};
use picoclaw_sandbox::isolate::Fence;
use picoclaw_sandbox::printable_path;
use std::path::{Path, PathBuf};

/// What to load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// `--config`.
    pub(crate) config: Option<&'a Path>,
    /// The process environment.
    pub(crate) env: &'a ProcessEnv,
}

/// Whether the configuration file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigPresence {
    /// It exists.
    Present,
    /// It does not exist; the defaults apply.
    Missing,
}

/// The loaded settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The effective configuration.
    pub(crate) config: Config,
    /// The path of the configuration file, which need not exist.
    pub(crate) config_path: PathBuf,
    /// Whether it exists.
    pub(crate) presence: ConfigPresence,
    /// The path of the secrets file next to it.
    pub(crate) secrets_path: PathBuf,
    /// The instance directory.
    pub(crate) home: PathBuf,
    /// Notices about files and variables, one line each.
    pub(crate) notices: Vec<String>,
    /// The models that the environment added, because the configuration has none.
    pub(crate) env_models: Vec<EnvModel>,
    tree: ConfigTree,
    text: Option<String>,
}

/// Why the settings did not load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file given by `--config` does not exist.
    #[error("there is no configuration file `{}`", printable_path(.0))]
    Missing(PathBuf),
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A variable is not UTF-8.
    #[error("`{0}` in the environment is not UTF-8 text")]
    Variable(String),
    /// Workspaces in forbidden locations.
    #[error("{}", join_faults(.0))]
    Workspaces(Vec<WorkspaceFault>),
    /// Isolation is enabled, and there is no instance directory.
    #[error("isolation is enabled, and no home directory is known for the instance")]
    NoHome,
}

impl SettingsError {
    /// The remedy, if the message does not contain it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::File(FileError::Io { .. }) => {
                Some("check its owner and mode, and those of its directories".to_owned())
            }
            Self::File(FileError::NotAFile { .. }) => {
                Some("put a file in its place, or remove it to use the defaults".to_owned())
            }
            Self::File(FileError::TooLarge { .. }) => {
                Some(format!("a configuration has at most {MAX_FILE_SIZE} bytes"))
            }
            Self::File(FileError::NotText { .. }) => Some("save the file as UTF-8".to_owned()),
            Self::Missing(_) => Some("check the name, or leave `--config` out".to_owned()),
            Self::Config(_) | Self::Workspaces(_) => None,
            Self::Variable(name) => Some(format!("unset `{name}`, or set it to text")),
            Self::NoHome => Some("set `PICOCLAW_HOME` or `HOME`".to_owned()),
        }
    }
}

/// Loads defaults, file, secrets and environment.
pub(crate) fn load(request: &Request<'_>) -> Result<Settings, SettingsError> {
    load_with_text(request, None)
}

/// The same, with `instead` as the text of the configuration file.
pub(super) fn load_with_text(
    request: &Request<'_>,
    instead: Option<&str>,
) -> Result<Settings, SettingsError> {
    let env = request.env;
    let home = env.home();
    let said = env.variable("PICOCLAW_CONFIG");
    let config_path = match (request.config, said) {
        (Some(path), _) => env.absolute(path),
        (None, Some(path)) => env.absolute(Path::new(path)),
        (None, None) => home.path().join("config.json"),
    };
    let file = read_text(&config_path)?;
    if file.is_none() && request.config.is_some() && instead.is_none() {
        return Err(SettingsError::Missing(config_path));
    }
    let directory = config_path.parent().unwrap_or(Path::new("/"));
    let secrets_path = directory.join(".security.yml");
    let secrets_file = read_text(&secrets_path)?;

    let (config_name, secrets_name) = (config_path.to_string_lossy(), secrets_path.to_string_lossy());
    let secrets = match &secrets_file {
        Some(file) => yaml::parse_yaml(&file.text, &secrets_name)?,
        None => None,
    };
    let secrets = secrets.filter(|node| !node.is_null());
    let variables = text_variables(env)?;
    let user_home = env.user_home();
    if instead.is_some_and(|text| text.len() as u64 > MAX_FILE_SIZE) {
        return Err(FileError::TooLarge { path: config_path }.into());
    }
    let text = instead.or_else(|| file.as_ref().map(|file| file.text.as_str()));
    let sources = Sources { file: &config_name, text, secrets: &secrets_name };
    let layers =
        Layers { sources, secrets: secrets.as_ref(), variables: &variables, user_home: user_home.as_deref() };
    let mut loaded = merge_layers(&layers, &Credentials { directory, env })?;
    resolve_env_files(directory, &mut loaded.config);
    let env_models = env_models::add(&mut loaded.config, env)?;

    if loaded.config.isolation.enabled && matches!(home, Home::CurrentDir(_)) {
        return Err(SettingsError::NoHome);
    }
    let faults = workspace_check::check(&loaded.config, home.path(), [&config_path, &secrets_path], env);
    if !faults.is_empty() {
        return Err(SettingsError::Workspaces(faults));
    }

    let mut notices: Vec<String> = loaded.notices.iter().map(ToString::to_string).collect();
    if file.is_none() && said.is_some() {
        notices.push(format!("there is no configuration file `{config_name}`, which `PICOCLAW_CONFIG` names; the defaults apply"));
    }
    notices
        .extend(file.as_ref().and_then(|file| permission_warning(file, &config_name, FileContent::Settings)));
    notices.extend(
        secrets_file.as_ref().and_then(|file| permission_warning(file, &secrets_name, FileContent::Secrets)),
    );
    notices.extend(workspace_check::exposure_warnings(&loaded.config.isolation.expose_paths, env));
    let presence = if file.is_some() { ConfigPresence::Present } else { ConfigPresence::Missing };
    Ok(Settings {
        config: loaded.config,
        presence,
        home: home.path().to_owned(),
        notices,
        env_models,
        tree: loaded.tree,
        text: text.map(str::to_owned),
        config_path,
        secrets_path,
    })
}

impl Settings {
    /// The text of the configuration file, if there is one.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Warnings at start: about the files, and about each protection that is switched off.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let RefusedHelpers { hooks, servers } = RefusedHelpers::of(self);
        self.notices.iter().cloned().chain(warnings(&self.config)).chain(hooks).chain(servers).collect()
    }

    /// What applies by default and is still worth a line at start.
    pub(crate) fn reminders(&self) -> Vec<String> {
        let fence = if Fence::is_available() { self.config.tools.exec.fence } else { FenceMode::Off };
        reminders(&self.config, fence)
    }

    /// A line about isolation that is off because the configuration does not name it.
    pub(crate) fn unnamed_isolation(&self) -> Option<String> {
        let is_unnamed = self.presence == ConfigPresence::Present && !self.tree.names("isolation");
        (is_unnamed && !self.config.isolation.enabled).then(|| {
            let file = self.config_path.file_name().unwrap_or_default().to_string_lossy();
            format!("isolation is off: `{file}` does not name it; add `\"isolation\": {{\"enabled\": true}}`")
        })
    }

    /// The variable that brought a model, if the configuration has none.
    pub(crate) fn env_variable_of(&self, model: &str) -> Option<&str> {
        let found = self.env_models.iter().find(|known| known.entry.name == model);
        found.map(|known| known.variable.as_str())
    }

    /// Every key with its value and origin, secrets masked.
    pub(crate) fn show(&self) -> Vec<ShownKey> {
        let (file, secrets) = (self.config_path.to_string_lossy(), self.secrets_path.to_string_lossy());
        let sources = Sources { file: &file, text: self.text.as_deref(), secrets: &secrets };
        self.tree.show(&self.config, &sources, &self.home)
    }
}

/// Relative env files are resolved against the configuration's directory, where no agent writes.
fn resolve_env_files(directory: &Path, config: &mut Config) {
    for server in &mut config.mcp.servers {
        if let McpTransport::Stdio { env_file: Some(path), .. } = &mut server.transport {
            *path = directory.join(&*path);
        }
    }
}

fn text_variables(env: &ProcessEnv) -> Result<Vec<(String, String)>, SettingsError> {
    env.picoclaw_variables()
        .map(|(name, value)| {
            let shown = || SettingsError::Variable(name.to_string_lossy().into_owned());
            Ok((name.to_str().ok_or_else(shown)?.to_owned(), value.to_str().ok_or_else(shown)?.to_owned()))
        })
        .collect()
}

/// The content of a file, which determines the permissions it should have.
#[derive(Clone, Copy, PartialEq)]
enum FileContent {
    Settings,
    Secrets,
}

/// A warning about a file that other users can read or change.
fn permission_warning(file: &TextFile, name: &str, holds: FileContent) -> Option<String> {
    let mode = platform::mode(&file.metadata)?;
    let who = match holds {
        FileContent::Secrets if mode & 0o077 != 0 => "other users can reach",
        _ if mode & 0o022 != 0 => "other users can change",
        _ => return None,
    };
    Some(format!("{who} `{name}` (mode {mode:04o}); `chmod 600` it"))
}

fn join_faults(faults: &[WorkspaceFault]) -> String {
    faults.iter().map(|fault| format!("{fault}\nhint: {}", fault.hint())).collect::<Vec<_>>().join("\n")
}
