//! What belongs to a file beside its mode and owner.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Gives a file the access list of another.
pub fn copy_access_list(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    copy(from, to, libc::COPYFILE_ACL)
}

/// Gives a file the extended attributes of another, the quarantine mark among them.
pub fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    copy(from, to, libc::COPYFILE_XATTR)
}

fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>, flags: libc::copyfile_flags_t) -> io::Result<()> {
    // SAFETY: both descriptors are open, and there is no state.
    match unsafe { libc::fcopyfile(from.as_raw_fd(), to.as_raw_fd(), std::ptr::null_mut(), flags) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
