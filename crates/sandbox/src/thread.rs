//! Threads of this crate.
//!
//! Invariant: no second thread begins before every table of the program is complete.

use picoclaw_sys::linux::complete_tables;
use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread with a name and so much room for its calls.
pub(crate) fn start<T: Send + 'static>(
    name: &str,
    room: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    complete_tables();
    Builder::new().name(name.to_owned()).stack_size(room).spawn(work)
}
