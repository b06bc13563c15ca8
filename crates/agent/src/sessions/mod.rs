//! Sessions: what was said, kept line by line below `<home>/state/sessions`, apart for each agent.
//!
//! A session is two files: `<name>.jsonl`, one message a line, and `<name>.meta.json`, its name as it was given, the summary of
//! what was said earlier, and how many messages that summary stands for. Messages are only ever added; a turn that is stopped
//! takes its own away again.
//!
//! Invariant: one turn at a time writes to a session; two names are two sessions, and two agents share none.

mod error;
mod meta;
mod name;
mod reading;
mod session;
mod store;

pub use error::SessionError;
pub use meta::Meta;
pub use session::{Mark, Said, Session};
pub use store::{Listed, Sessions, Transcript};
