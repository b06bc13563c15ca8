//! Settings: the configuration loader, which reads the files and the environment and hands texts to the desk.
//!
//! Invariant: loading writes nothing, and what cannot be read whole stops the start.

mod credential;
mod file;
mod ground;
mod load;
mod revise;
mod sealed;
mod servers;
mod surroundings;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests;
mod yaml;

pub(crate) use file::first_line;
pub(crate) use ground::{fault_in, fault_of};
pub(crate) use load::{Loaded, Presence, Request, SettingsError, load};
pub(crate) use revise::{ReviseError, revise};
pub(crate) use servers::{Change, Then};
pub(crate) use surroundings::Surroundings;
