//! Windows: children that are in a job before they run, with a restricted token where they are
//! confined.
//!
//! Invariant: a child is created suspended. What cannot be set up and read back ends it before its
//! first instruction.

mod access_list;
mod command_line;
pub mod console;
pub mod file;
mod job;
mod label;
mod process;
mod random;
mod spawn;
mod token;

pub use access_list::{access_list, set_access_list};
pub use command_line::{CommandLineFault, command_line, environment_block};
pub use job::{Job, JobLimits};
pub use label::label_low;
pub use process::Process;
pub use random::fill_random;
pub use spawn::{ChildSpec, SpawnError, Spawned, spawn};
pub use token::RestrictedToken;

use std::io;
use std::os::windows::io::{FromRawHandle as _, OwnedHandle};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::core::BOOL;

/// The error of the thread, where a call returned false.
fn check(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes over a handle that a call has just returned.
fn own(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: callers pass a handle that a system call returned to them alone, and keep no copy.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
