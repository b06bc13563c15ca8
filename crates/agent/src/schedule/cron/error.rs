//! Errors of jobs.

use picoclaw_sandbox::state_dir::StateError;
use picoclaw_sandbox::{first_chars, printable};

/// Why a job cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum CronError {
    /// There is no such job in the caller's scope.
    #[error("job {} not found", excerpt(.0))]
    NotFound(String),
    /// It runs now.
    #[error("job {0} is still running")]
    StillRunning(String),
    /// The expression cannot be parsed.
    #[error("invalid cron expression `{}`: {why}", excerpt(expr))]
    Expression {
        /// As it was written.
        expr: String,
        /// What is wrong with it.
        why: String,
    },
    /// The time zone is not known.
    #[error("unknown time zone `{}`", excerpt(.0))]
    Zone(String),
    /// The schedule has no next time.
    #[error("the schedule never comes due")]
    Never,
    /// A value is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The file cannot be parsed.
    #[error("`{path}` is not a valid list of jobs: {why}")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file error.
    #[error(transparent)]
    State(#[from] StateError),
}

impl CronError {
    /// The remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Expression { .. } => Some("five fields: minute, hour, day of month, month, day of week"),
            Self::Zone(_) => Some("a name of the IANA database, such as `Europe/Berlin`"),
            Self::Broken { .. } => {
                Some("nothing was changed; repair the file, or move it away to start with an empty list")
            }
            Self::NotFound(_) => Some("`picoclaw cron list` names every job"),
            Self::State(why) => why.hint(),
            _ => None,
        }
    }
}

fn excerpt(text: &str) -> String {
    printable(first_chars(text, 80)).into_owned()
}
