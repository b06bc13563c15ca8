//! Logs for developers and operators: lines on stderr, never on stdout.
//!
//! Plain, as the documentation prints them, an event is one line and its fields another:
//!
//! ```text
//! [ERROR] tool: Tool execution failed
//! {tool=read_file, error=access denied: path is outside the workspace}
//! ```
//!
//! The component is the event's target. Values stand on that one line whatever they contain: line feeds and
//! everything a terminal acts on are written as escapes. A hint (`hint: …` on a line of its own, as refusals
//! carry it) is for the person who asked and is left out. With `PICOCLAW_LOG_FORMAT=json` each event is one
//! object instead, `{time, level, component, message, …fields}`.
//!
//! `PICOCLAW_LOG_LEVEL`, else `gateway.log_level`, says how much: `debug`, `info`, `warn`, `error`, or `fatal`
//! for nothing. `PICOCLAW_LOG_FILE` names a file (made 0600) that gets everything in place of stderr. Libraries
//! are heard only from WARN up.
//!
//! Invariant: no configured secret and no control character leaves through a log, and no failure to write one
//! is anybody's failure.

mod level;
mod line;
mod settings;
mod sink;
mod subscriber;

pub(crate) use level::LogProfile;
pub(crate) use settings::LogSettings;
pub(crate) use subscriber::start;
