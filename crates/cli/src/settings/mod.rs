//! Settings: reads the files and the environment, and loads the configuration. Loading writes
//! nothing.

mod credential;
mod edit;
mod edit_mcp;
mod edit_model;
mod encrypted;
mod env_models;
mod file;
mod helper_check;
mod load;
mod migrate;
mod process_env;
mod profiles;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests;
mod workspace_check;
mod yaml;

pub(crate) use edit::{EditError, edit_config};
pub(crate) use edit_mcp::{AfterRemoval, McpChange};
pub(crate) use edit_model::add_model;
pub(crate) use env_models::{EnvModel, env_models};
pub(crate) use file::first_line;
pub(crate) use helper_check::RefusedHelpers;
pub(crate) use load::{ConfigPresence, Request, Settings, SettingsError, load};
pub(crate) use migrate::{Migration, migrate, movable_providers};
pub(crate) use process_env::ProcessEnv;
pub(crate) use profiles::{FoundProfile, Profiles};
pub(crate) use workspace_check::{exposure_warnings, workspace_fault, workspace_fault_in};
