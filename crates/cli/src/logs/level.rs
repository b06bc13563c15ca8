//! How much is logged.
//!
//! Invariant: a level that is not known is an error, never a default.

use std::str::FromStr;
use tracing::level_filters::LevelFilter;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Every command and its verdict.
    Debug,
    /// What the gateway does, and the cage it builds.
    Info,
    /// What is switched off or does not fit.
    Warn,
    /// What failed.
    Error,
    /// Only what ends the process; that is said on the way out, so nothing is logged.
    Fatal,
}

/// Which kind of program logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Porch {
    /// A command that does one thing and ends.
    OneShot,
    /// The long-running gateway.
    Gateway,
}

impl Porch {
    /// How much it logs unless told otherwise.
    pub fn level(self) -> Level {
        match self {
            Self::OneShot => Level::Warn,
            Self::Gateway => Level::Info,
        }
    }
}

impl Level {
    pub(super) fn filter(self) -> LevelFilter {
        match self {
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warn => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
            Self::Fatal => LevelFilter::OFF,
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim().to_ascii_lowercase().as_str() {
            "debug" => Ok(Self::Debug),
            "info" => Ok(Self::Info),
            "warn" | "warning" => Ok(Self::Warn),
            "error" => Ok(Self::Error),
            "fatal" => Ok(Self::Fatal),
            _ => Err(()),
        }
    }
}
