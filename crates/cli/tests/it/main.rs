//! The program from the outside: the real binary, real files, real processes.
//!
//! One test program for all of it, so that it is linked once.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests start the program, arrange files by hand, and stop where they cannot go on"
)]

mod agent;
mod architecture;
mod audit;
mod boundary;
mod config;
mod cron;
mod deploy;
mod documents;
mod everyday;
mod exec;
mod fence;
mod first_minutes;
mod first_version;
mod fresh_machine;
mod front_door;
mod gateway;
mod guard_effects;
mod hooks;
mod hostile;
mod hostile_children;
mod isolation;
mod lineage;
mod mcp;
mod mcp_client;
mod mcp_wrap;
mod migrate;
mod model_server;
mod oci;
mod presence;
mod progress;
mod run;
mod sessions;
mod test_instance;
mod tmux;
mod tools;
mod walk;
mod web;
