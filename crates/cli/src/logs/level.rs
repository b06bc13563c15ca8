//! How much each kind of program logs.
//!
//! Invariant: a level comes from the configuration, which has checked it, or from the kind of program.

use picoclaw_policy::config::LogLevel;
use tracing::level_filters::LevelFilter;

/// Which kind of program logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Porch {
    /// A command that does one thing and ends.
    OneShot,
}

impl Porch {
    /// How much it logs unless told otherwise.
    pub(crate) fn level(self) -> LogLevel {
        match self {
            Self::OneShot => LogLevel::Warn,
        }
    }
}

/// The filter for a level.
pub(super) fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Fatal => LevelFilter::OFF,
    }
}
