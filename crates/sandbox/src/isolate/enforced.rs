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
    /// All of it but what the operator opened by name.
    FullBut(String),
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

    /// Every layer in words: the network is open, closed or by name, the others are held or not.
    pub fn words(&self) -> [(&'static str, String); 5] {
        self.layers().map(|(layer, name, grade)| {
            let word = match (layer, grade) {
                (Requirement::Network, Grade::Full) => "closed".to_owned(),
                (Requirement::Network, Grade::FullBut(hosts)) => format!("by name: {hosts}"),
                (Requirement::Network, Grade::None(why)) => format!("open: {why}"),
                (_, grade) => grade.to_string(),
            };
            (name, word)
        })
    }

    /// The first required layer that is not held in full.
    pub fn lacks(&self, required: &[Requirement]) -> Option<(&'static str, &Grade)> {
        let mut layers = self.layers().into_iter();
        layers
            .find(|(layer, _, grade)| required.contains(layer) && !grade.is_held())
            .map(|(_, name, grade)| (name, grade))
    }
}

impl Grade {
    /// Whether all that was asked for is held.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Full | Self::FullBut(_))
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("held"),
            Self::FullBut(opened) => write!(f, "held, but for {opened}"),
            Self::Partial(why) => write!(f, "partly held: {why}"),
            Self::None(why) => write!(f, "not held: {why}"),
        }
    }
}

impl fmt::Display for Enforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words().map(|(name, word)| format!("{name} {word}"));
        f.write_str(&words.join("; "))
    }
}
