//! How much each kind of program logs.
//!
//! Invariant: a level comes from the configuration, which has checked it, or from the kind of program.

use picoclaw_policy::config::LogLevel;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

/// Somebody who writes log lines in place of stderr.
pub(crate) type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Which kind of program logs.
#[derive(Clone)]
pub(crate) enum LogProfile {
    /// A command that does one thing and ends.
    OneShot,
    /// The same, with a trace of every call beside the log.
    Traced,
    /// The gateway, which stays.
    Gateway,
    /// A session that draws on the terminal: lines go through its hands, beside a trace.
    Screen(LineSink),
}

impl LogProfile {
    /// How much it logs unless told otherwise.
    pub(crate) fn level(&self) -> LogLevel {
        match self {
            Self::Gateway => LogLevel::Info,
            Self::OneShot | Self::Traced | Self::Screen(_) => LogLevel::Warn,
        }
    }

    /// The components whose events the trace tells already.
    pub(super) fn traced_components(&self) -> &'static [&'static str] {
        match self {
            Self::OneShot | Self::Gateway => &[],
            Self::Traced | Self::Screen(_) => &["tool", "provider"],
        }
    }
}

/// The filter for a level.
pub(super) fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Fatal => LevelFilter::OFF,
    }
}
