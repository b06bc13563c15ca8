//! How much of each layer of a confinement the kernel holds.
//!
//! Invariant: a layer is `Full` only when the kernel enforces all of it.

use picoclaw_policy::config::Requirement;
use std::fmt;

/// How much of one layer is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grade {
    /// All of it.
    Full,
    /// A part of it, and what is missing.
    Partial(String),
    /// Nothing, and why.
    None(String),
}

/// How much of each layer is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforced {
    /// Files.
    pub filesystem: Grade,
    /// Network.
    pub network: Grade,
    /// Visibility of processes, and signals.
    pub processes: Grade,
    /// System calls.
    pub syscalls: Grade,
    /// Resource limits.
    pub limits: Grade,
}

impl Enforced {
    /// Every layer with its name.
    pub fn layers(&self) -> [(Requirement, &'static str, &Grade); 5] {
        [
            (Requirement::Filesystem, "filesystem", &self.filesystem),
            (Requirement::Network, "network", &self.network),
            (Requirement::Processes, "processes", &self.processes),
            (Requirement::Syscalls, "syscalls", &self.syscalls),
            (Requirement::Limits, "limits", &self.limits),
        ]
    }

    /// The first required layer that is not held in full.
    pub fn lacks(&self, required: &[Requirement]) -> Option<(&'static str, &Grade)> {
        let mut layers = self.layers().into_iter();
        layers
            .find(|(layer, _, grade)| required.contains(layer) && !matches!(grade, Grade::Full))
            .map(|(_, name, grade)| (name, grade))
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Partial(why) => write!(f, "partial: {why}"),
            Self::None(why) => write!(f, "none: {why}"),
        }
    }
}

impl fmt::Display for Enforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (_, name, grade)) in self.layers().into_iter().enumerate() {
            let gap = if at == 0 { "" } else { "; " };
            write!(f, "{gap}{name} {grade}")?;
        }
        Ok(())
    }
}
