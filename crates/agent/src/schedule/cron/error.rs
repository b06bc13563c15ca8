//! Why a job cannot be had or made.
//!
//! Invariant: what a person or a model wrote is named and bounded; nothing of the store leaks through an error.

use picoclaw_sandbox::printable;
use picoclaw_sandbox::state_dir::StateError;

/// Why a job cannot be had or made.
#[derive(Debug, thiserror::Error)]
pub enum CronError {
    /// There is none of that name, or it is somebody else's.
    #[error("job {} not found", shown(.0))]
    NotFound(String),
    /// It runs at this moment.
    #[error("job {0} is still running")]
    StillRunning(String),
    /// The expression cannot be read.
    #[error("invalid cron expression `{}`: {why}", shown(expr))]
    Expression {
        /// As it was written.
        expr: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such zone.
    #[error("unknown time zone `{}`", shown(.0))]
    Zone(String),
    /// There is no such moment.
    #[error("the schedule never comes due")]
    Never,
    /// Something about a job does not fit.
    #[error("{0}")]
    Misfit(String),
    /// The file is not one of ours any more.
    #[error("`{path}` cannot be read as jobs: {why}")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file cannot be had.
    #[error(transparent)]
    State(#[from] StateError),
}

impl CronError {
    /// What would help, when something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Expression { .. } => Some("five fields: minute, hour, day of month, month, day of week"),
            Self::Zone(_) => Some("a name of the IANA database, such as `Europe/Berlin`"),
            Self::Broken { .. } => {
                Some("nothing was changed; repair the file, or move it away to begin anew")
            }
            Self::NotFound(_) => Some("`picoclaw cron list` names every job"),
            Self::State(why) => why.hint(),
            _ => None,
        }
    }
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(80).collect();
    printable(&cut).into_owned()
}
