//! Path-safe files: a directory handle, a look-up that cannot leave it, and five effects.
//!
//! Looking comes first and is no effect: [`Root::locate`] turns a clean relative path into a [`Place`], which
//! holds a handle on what was found and says where that is. The effects then work on the handle; a path is
//! never looked up a second time, so what was judged is what is opened.
//!
//! Two engines look. `openat2` answers for plain paths in one call, and refuses links, mounts and dots. Whatever it
//! refuses, and every path outside the workspace, goes to the walking resolver, which opens one component after
//! the other and keeps the directories it came through in its hand, so that `..` is a step back on the way it
//! came and never a question to the kernel. One table (`spec/paths.toml`) runs over both.
//!
//! Beyond this room: a directory that its owner moves out of the workspace while a handle on it is held stays
//! usable through that handle; a file system that blocks (FUSE, a dead NFS server) blocks here as well; a file
//! replaced by rename leaves its other hard links with the old contents.
//!
//! Invariant: nothing here reaches an object that is not beneath the handle it began with.

mod base;
mod directory;
mod edit;
mod effects;
mod enter;
mod error;
mod facts;
mod glance;
mod hard_links;
mod keep;
mod list;
mod locate;
mod locks;
mod openat2;
mod operator;
mod parents;
mod place;
mod read;
mod reopen;
mod replace;
mod scribe;
mod seals;
mod sweep;
mod temp;
mod walk;

#[cfg(test)]
mod tests;

pub use base::Lacks;
pub use directory::Root;
pub use error::RootError;
pub use list::{Entry, EntryKind, Listing, Page};
pub use operator::read_operator_file;
pub use place::Place;
pub use read::{Excerpt, More, Span};
pub use replace::{APPEND_LIMIT, EDIT_LIMIT, Overwrite};
pub use scribe::Scribe;
pub use seals::Seals;
pub(crate) use temp::{Taking, Temp, is_temporary};
