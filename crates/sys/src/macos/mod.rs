//! macOS: processes by their start time, signals through a pipe, and the metadata of files.

mod metadata;
mod process;
mod signals;

pub use metadata::{copy_access_list, copy_attributes};
pub use process::Process;
pub use signals::{SignalPipe, die_by};
