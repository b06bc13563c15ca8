//! Path-safe file access beneath an open directory.
//!
//! A lookup is not an effect: [`Root::locate`] turns a clean relative path into a [`Place`], which
//! holds a descriptor and says where it leads. Effects work on that descriptor and resolve no path
//! again, so what was checked is what is opened.
//!
//! There are two resolvers. openat2(2) answers for plain paths in one call and refuses links,
//! mounts and dots. Everything else, and every path outside the workspace, goes to the walking
//! resolver. One table (`spec/paths.toml`) tests both.
//!
//! Out of scope: a directory that is moved out of the workspace stays usable through an open
//! descriptor; a file system that blocks (FUSE, a dead NFS server) blocks here too; a file replaced
//! by rename leaves its other hard links with the old contents.
//!
//! Invariant: nothing here reaches an object that is not beneath the root's descriptor.

mod create_parents;
mod edit;
mod effects;
mod error;
mod hard_links;
mod list;
mod locate;
mod locks;
mod metadata;
mod openat2_resolver;
mod place;
#[cfg_attr(target_os = "macos", path = "preserve_metadata_macos.rs")]
#[cfg_attr(windows, path = "preserve_metadata_windows.rs")]
mod preserve_metadata;
mod protected_inodes;
mod read;
mod remove_dir_all;
mod reopen;
mod replace;
mod root_dir;
mod stale_temps;
mod temp;
mod walk_resolver;
mod write_context;

#[cfg(test)]
mod tests;

pub use error::RootError;
pub use list::{Entry, EntryKind, Listing, Page};
pub use place::Place;
pub use protected_inodes::ProtectedInodes;
pub use read::{Excerpt, More, Span};
pub(crate) use remove_dir_all::{dir_bytes, remove_dir_all};
pub use replace::{APPEND_LIMIT, EDIT_LIMIT, Overwrite};
pub use root_dir::{DisabledKernelFeatures, Root};
pub(crate) use temp::{RenameMode, TempFile, is_temp_name};
pub use write_context::WriteContext;
