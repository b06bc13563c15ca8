//! `picoclaw mcp serve`: the tools, for an agent that somebody else runs.
//!
//! Invariant: standard output carries the protocol and nothing else.

use super::arguments::ServeArguments;
use crate::compose;
use crate::exit::{self, Exit};
use crate::settings::{Loaded, Surroundings};
use anyhow::Result;
use picoclaw_policy::Origin;

/// Serves until the client is gone.
pub(crate) fn run(arguments: &ServeArguments, loaded: &Loaded, _surroundings: &Surroundings) -> Result<Exit> {
    match compose::subject(loaded, arguments.agent.as_deref(), Origin::Mcp) {
        Ok(_subject) => Ok(Exit::Usage),
        Err(why) => Ok(exit::bad_usage(&why)),
    }
}
