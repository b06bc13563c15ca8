//! What the kernel really granted.
//!
//! Invariant: a layer is `Full` only when the kernel itself was seen to take it.

use picoclaw_policy::config::Requirement;
use std::fmt;

/// How much of one layer is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grade {
    /// All of it, by the kernel.
    Full,
    /// Some of it; what is missing.
    Partial(String),
    /// Nothing; why.
    None(String),
}

/// What holds a child, layer by layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforced {
    /// Which files it reaches.
    pub filesystem: Grade,
    /// Which network it reaches.
    pub network: Grade,
    /// Which processes it sees and signals.
    pub processes: Grade,
    /// Which system calls it may make.
    pub syscalls: Grade,
    /// How much it may use.
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

    /// The first layer that `required` names and that is held by nothing.
    pub fn lacks(&self, required: &[Requirement]) -> Option<(&'static str, &Grade)> {
        let unmet = |grade: &Grade| !matches!(grade, Grade::Full);
        let layers = self.layers().into_iter();
        layers
            .filter(|(layer, _, grade)| required.contains(layer) && unmet(grade))
            .map(|(_, name, grade)| (name, grade))
            .next()
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
