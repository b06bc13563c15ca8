//! Which backends work on a host.

use super::backend::Backend;
use std::fmt;
use std::path::PathBuf;

/// Which backends work on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// Our own namespaces, with a new `/proc` or the host's, or why not.
    pub native: Result<Backend, Unusable>,
    /// Bubblewrap's path, or why not.
    pub bwrap: Result<PathBuf, Unusable>,
    /// The Landlock ABI version, if there is one.
    pub landlock: Option<u32>,
    /// What would let our own namespaces work, where a setting of the kernel forbids them.
    pub remedy: Option<&'static str>,
}

/// Why a backend cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// The host does not have what it needs, and will not have it at the next start either.
    Missing(String),
    /// The trial failed for a reason that may pass, such as too few descriptors, memory or time. It
    /// says nothing about the host, so no lower level is taken for it.
    Failed(String),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Missing(reason) | Self::Failed(reason)) = self;
        f.write_str(reason)
    }
}
