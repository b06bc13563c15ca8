//! Who a guest is, and where it stays.
//!
//! Invariant: everything in here comes from the configuration or the command line, nothing from a model.

use crate::launch::{Bounds, Deadline, Principal, Streams};
use picoclaw_policy::config::ExposeMode;
use std::ffi::OsString;
use std::path::Path;

/// One program of the operator's.
#[derive(Debug)]
pub struct Guest<'g> {
    /// Whose user environment it gets: each guest's own.
    pub principal: Principal,
    /// The program and its arguments, no shell.
    pub command: &'g [OsString],
    /// What the operator gave it on top of what passes.
    pub variables: &'g [(OsString, OsString)],
    /// Where it works.
    pub stay: Stay<'g>,
    /// Its input and output.
    pub streams: Streams,
    /// How long it may take.
    pub deadline: Deadline,
    /// How much of its output is kept.
    pub bounds: Bounds,
}

/// Where a guest works.
#[derive(Debug, Clone, Copy)]
pub enum Stay<'g> {
    /// In its own home, where no agent can write.
    Own,
    /// Where the operator says, shown to it in this mode.
    At {
        /// The directory.
        path: &'g Path,
        /// Whether the guest may write there.
        mode: ExposeMode,
    },
}
