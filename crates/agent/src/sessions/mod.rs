//! Sessions: the messages of a conversation, below `<home>/state/sessions/<agent>`.
//!
//! A session is two files: `<name>.jsonl`, one message a line, and `<name>.meta.json`. Messages are
//! appended by one turn at a time; a cancelled turn truncates the file to where it began.

mod error;
mod file_name;
mod load;
mod meta;
mod session;
mod store;

pub use error::SessionError;
pub use meta::Meta;
pub use session::{RollbackPoint, Session, StoredMessage};
pub use store::{Listed, Sessions, Transcript};
