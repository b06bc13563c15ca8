//! Modes, owners, FIFOs and bytes of names, as far as a platform has them.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::Path;

/// The permissions of a file; `None` where there are no modes.
#[cfg(unix)]
pub(crate) fn mode(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(metadata.permissions().mode() & 0o777)
}

/// The permissions of a file; `None` where there are no modes.
#[cfg(not(unix))]
pub(crate) fn mode(_metadata: &Metadata) -> Option<u32> {
    None
}

/// Whether it is a FIFO, which waits for its other end when it is opened.
#[cfg(unix)]
pub(crate) fn is_fifo(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

/// Whether it is a FIFO, which waits for its other end when it is opened.
#[cfg(not(unix))]
pub(crate) fn is_fifo(_metadata: &Metadata) -> bool {
    false
}

/// A name of the host; empty where names have no bytes and these are no text.
#[cfg(unix)]
pub(crate) fn name_of(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// A name of the host; empty where names have no bytes and these are no text.
#[cfg(not(unix))]
pub(crate) fn name_of(bytes: &[u8]) -> &OsStr {
    OsStr::new(std::str::from_utf8(bytes).unwrap_or_default())
}

/// The owner of a directory, if root runs this and it is another user's.
#[cfg(unix)]
pub(crate) fn owner_that_root_is_not(path: &Path) -> Option<u32> {
    let owner = std::os::unix::fs::MetadataExt::uid(&path.metadata().ok()?);
    (rustix::process::geteuid().is_root() && owner != 0).then_some(owner)
}

/// The owner of a directory, if root runs this and it is another user's: there is no root.
#[cfg(not(unix))]
pub(crate) fn owner_that_root_is_not(_path: &Path) -> Option<u32> {
    None
}
