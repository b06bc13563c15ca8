//! The settings of the log.

use super::level::{LineSink, LogProfile};
use picoclaw_policy::config::LogLevel;
use picoclaw_sandbox::printable_path;
use std::io;
use std::path::PathBuf;

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// As documented.
    Plain,
    /// One JSON object.
    Json,
}

/// What is logged, in which format, and where.
#[derive(Clone)]
pub(crate) struct LogSettings {
    pub(super) level: LogLevel,
    pub(super) format: LogFormat,
    pub(super) file: Option<PathBuf>,
    /// Components that are not logged because a trace shows their events.
    pub(super) muted: &'static [&'static str],
    /// Writes log lines instead of stderr.
    pub(super) line_sink: Option<LineSink>,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LogError {
    /// An unknown format.
    #[error("`PICOCLAW_LOG_FORMAT`: `{value}` is not a log format; use `plain` or `json`")]
    Format {
        /// The value.
        value: String,
    },
    /// The log file cannot be opened.
    #[error("could not open the log file `{}`: {source}", printable_path(path))]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Logging was started before.
    #[error("logging has been started already")]
    Started,
}

impl LogSettings {
    /// The settings of `profile`, with the configured level and the format from the environment.
    pub(crate) fn new(
        profile: LogProfile,
        configured: Option<LogLevel>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, LogError> {
        // An empty variable is an unset one.
        let environment = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let level = configured.unwrap_or(profile.level());
        let format = match environment("PICOCLAW_LOG_FORMAT") {
            None => LogFormat::Plain,
            Some(value) => match value.trim().to_ascii_lowercase().as_str() {
                "json" => LogFormat::Json,
                "plain" | "text" => LogFormat::Plain,
                _ => return Err(LogError::Format { value }),
            },
        };
        let file = environment("PICOCLAW_LOG_FILE").map(PathBuf::from);
        // An explicit level or file gets every event.
        let muted = if configured.is_none() && file.is_none() { profile.traced_components() } else { &[] };
        let sink = match profile {
            LogProfile::Screen(sink) => Some(sink),
            LogProfile::OneShot | LogProfile::Traced | LogProfile::Gateway => None,
        };
        Ok(Self { level, format, file, muted, line_sink: sink })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_decides_and_the_kind_of_program_otherwise() {
        for (why, configured, want) in [
            ("a one-shot command", None, LogLevel::Warn),
            ("the configuration", Some(LogLevel::Debug), LogLevel::Debug),
        ] {
            let level = LogSettings::new(LogProfile::OneShot, configured, |_| None).unwrap().level;
            assert_eq!(level, want, "{why}");
        }
    }

    #[test]
    fn the_format_is_plain_or_json() {
        for (value, want) in
            [(None, Some(LogFormat::Plain)), (Some("json"), Some(LogFormat::Json)), (Some("xml"), None)]
        {
            let environment =
                |name: &str| (name == "PICOCLAW_LOG_FORMAT").then(|| value.map(str::to_owned))?;
            let format =
                LogSettings::new(LogProfile::OneShot, None, environment).ok().map(|settings| settings.format);
            assert_eq!(format, want, "{value:?}");
        }
    }
}
