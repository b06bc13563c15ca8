//! The commands, one per file. A command wires and renders; decisions belong to the policy.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod cage_flags;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod doctor;
pub(crate) mod gateway;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod onboard;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod run;
mod run_hints;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod token;
pub(crate) mod tool;
pub(crate) mod trust;
pub(crate) mod version;
pub(crate) mod workspace;
