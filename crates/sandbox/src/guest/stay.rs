//! Who a guest is.
//!
//! Invariant: everything in here comes from the configuration or the command line, nothing from a model.

use crate::confine::ChildDir;
use crate::launch::{Deadline, OutputLimit, Principal, Streams};
use std::ffi::OsString;

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
    pub dir: ChildDir<'g>,
    /// Its input and output.
    pub streams: Streams,
    /// How long it may take.
    pub deadline: Deadline,
    /// How much of its output is kept.
    pub output_limit: OutputLimit,
}
