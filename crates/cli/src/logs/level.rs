//! Log levels of the kinds of processes.

use picoclaw_policy::config::LogLevel;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

/// Writes log lines instead of stderr.
pub(crate) type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The kind of process that logs.
#[derive(Clone)]
pub(crate) enum LogProfile {
    /// A command that runs once.
    OneShot,
    /// A command with a trace of every call next to the log.
    Traced,
    /// The gateway.
    Gateway,
    /// An interactive session: it writes the log lines itself, next to a trace.
    Screen(LineSink),
}

impl LogProfile {
    /// The default log level.
    pub(crate) fn level(&self) -> LogLevel {
        match self {
            Self::Gateway => LogLevel::Info,
            Self::OneShot | Self::Traced | Self::Screen(_) => LogLevel::Warn,
        }
    }

    /// The components whose events the trace shows already.
    pub(super) fn traced_components(&self) -> &'static [&'static str] {
        match self {
            Self::OneShot | Self::Gateway => &[],
            Self::Traced | Self::Screen(_) => &["tool", "provider"],
        }
    }
}

/// The tracing filter of a level.
pub(super) fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Fatal => LevelFilter::OFF,
    }
}
