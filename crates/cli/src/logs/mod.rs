//! The log for developers and operators: lines on stderr, never on stdout.
//!
//! An event is one line, and its fields are another, as documented:
//!
//! ```text
//! [ERROR] tool: Tool execution failed
//! {tool=read_file, error=access denied: path is outside the workspace}
//! ```
//!
//! The component is the event's target. Values stay on that one line: line breaks and control
//! characters are escaped. A hint (`hint: …` on a line of its own in a refusal) is for the caller
//! and is left out. With `PICOCLAW_LOG_FORMAT=json` each event is one object instead,
//! `{time, level, component, message, …fields}`.
//!
//! `PICOCLAW_LOG_LEVEL`, else `gateway.log_level`, sets the level: `debug`, `info`, `warn`,
//! `error`, or `fatal` for nothing. `PICOCLAW_LOG_FILE` names a file (created with mode 0600) that
//! is used instead of stderr. Libraries log from WARN up. Configured secrets are redacted, and a
//! failed write does not stop the program.

mod level;
mod line;
mod settings;
mod sink;
mod subscriber;

pub(crate) use level::LogProfile;
pub(crate) use settings::LogSettings;
pub(crate) use subscriber::start;
