//! Where the settings of the logs come from.
//!
//! Invariant: the environment wins over the configuration, and a bad value of either stops the start.

use super::level::{Level, Porch};
use std::io;
use std::path::PathBuf;

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// As the documentation prints it.
    Plain,
    /// One JSON object.
    Json,
}

/// What is logged, how and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub(super) level: Level,
    pub(super) shape: Shape,
    pub(super) file: Option<PathBuf>,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A level that is not known.
    #[error(
        "`{value}` is not a log level, in `{setting}`; known are `debug`, `info`, `warn`, `error` and `fatal`"
    )]
    Level {
        /// The value.
        value: String,
        /// Where it stands.
        setting: &'static str,
    },
    /// A form that is not known.
    #[error("`{value}` is not a log format, in `PICOCLAW_LOG_FORMAT`; known are `plain` and `json`")]
    Format {
        /// The value.
        value: String,
    },
    /// The log file cannot be had.
    #[error("could not open the log file `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Logging was started before.
    #[error("logging has been started already")]
    Started,
}

impl Settings {
    /// Settings for `porch`, from `gateway.log_level` as configured and from the environment.
    pub fn new(
        porch: Porch,
        configured: Option<&str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, LogError> {
        // An empty variable is an unset one.
        let environment = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let level = match (environment("PICOCLAW_LOG_LEVEL"), configured) {
            (Some(value), _) => parse_level(&value, "PICOCLAW_LOG_LEVEL")?,
            (None, Some(value)) => parse_level(value, "gateway.log_level")?,
            (None, None) => porch.level(),
        };
        let shape = match environment("PICOCLAW_LOG_FORMAT") {
            None => Shape::Plain,
            Some(value) => match value.trim().to_ascii_lowercase().as_str() {
                "json" => Shape::Json,
                "plain" | "text" => Shape::Plain,
                _ => return Err(LogError::Format { value }),
            },
        };
        Ok(Self { level, shape, file: environment("PICOCLAW_LOG_FILE").map(PathBuf::from) })
    }
}

fn parse_level(value: &str, setting: &'static str) -> Result<Level, LogError> {
    value.parse().map_err(|()| LogError::Level { value: value.to_owned(), setting })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_and_bad_values_stop_the_start() {
        let warn = Some(Level::Warn);
        for (why, porch, configured, variable, want) in [
            ("a one-shot command", Porch::OneShot, None, None, warn),
            ("the gateway", Porch::Gateway, None, None, Some(Level::Info)),
            ("the configuration", Porch::Gateway, Some("error"), None, Some(Level::Error)),
            ("the environment over it", Porch::Gateway, Some("error"), Some("debug"), Some(Level::Debug)),
            ("the longer spelling, any case", Porch::Gateway, None, Some(" Warning "), warn),
            ("fatal", Porch::Gateway, None, Some("fatal"), Some(Level::Fatal)),
            ("an empty variable is unset", Porch::OneShot, None, Some(""), warn),
            ("not a level", Porch::OneShot, None, Some("loud"), None),
            ("not a level in the configuration", Porch::OneShot, Some("loud"), None, None),
        ] {
            let environment =
                |name: &str| (name == "PICOCLAW_LOG_LEVEL").then(|| variable.map(str::to_owned))?;
            let level = Settings::new(porch, configured, environment).ok().map(|settings| settings.level);
            assert_eq!(level, want, "{why}");
        }
    }

    #[test]
    fn the_format_is_plain_or_json() {
        for (value, want) in
            [(None, Some(Shape::Plain)), (Some("json"), Some(Shape::Json)), (Some("xml"), None)]
        {
            let environment =
                |name: &str| (name == "PICOCLAW_LOG_FORMAT").then(|| value.map(str::to_owned))?;
            let shape = Settings::new(Porch::OneShot, None, environment).ok().map(|settings| settings.shape);
            assert_eq!(shape, want, "{value:?}");
        }
    }
}
