//! Models behind a command line: Claude Code and Codex, run as helpers.
//!
//! They have tools of their own, so they run in the cage; the flags that disable their own
//! permission checks are given only there.

mod claude;
mod codex;
mod parse_calls;
mod process;
mod prompt;

pub(super) use claude::Claude;
pub(super) use codex::Codex;
pub(super) use process::{CliFormat, CliProvider};
