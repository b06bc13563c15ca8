//! Looks at what has a name in an open directory, without following a link.

use super::{
    AsFd, AtFlags, BorrowedFd, Errno, FileType, Mode, O_PATH, OFlags, OwnedFd, Result, Stat, fstat, openat,
    read_link, read_link_at, statat,
};
use std::ffi::{OsStr, OsString};

/// How a name is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Through a descriptor that can do nothing else.
    ByDescriptor,
    /// By the name, where there are no such descriptors. Only directories are opened.
    ByName,
}

/// What has a name, a link itself included.
#[derive(Debug)]
pub(crate) struct DirEntryHandle {
    pub(crate) stat: Stat,
    /// Its descriptor. Looked at by its name, what is not a directory has that of the directory
    /// that it lies in.
    pub(crate) handle: OwnedFd,
}

/// Looks at a name.
pub(crate) fn open_entry(dir: BorrowedFd<'_>, name: &OsStr, lookup: Lookup) -> Result<DirEntryHandle> {
    let flags = O_PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if lookup == Lookup::ByName {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            let handle = dir.try_clone_to_owned();
            let handle = handle.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            return Ok(DirEntryHandle { stat, handle });
        }
    }
    let flags = match lookup {
        Lookup::ByDescriptor => flags,
        // What has taken its place is not opened unless it is a directory too.
        Lookup::ByName => flags | OFlags::DIRECTORY,
    };
    let handle = openat(dir, name, flags, Mode::empty())?;
    Ok(DirEntryHandle { stat: fstat(&handle)?, handle })
}

/// The target of a link. By its name, that of one which has taken its place meanwhile: it is
/// resolved like any other.
pub(crate) fn read_entry_link(
    link: &OwnedFd,
    dir: BorrowedFd<'_>,
    name: &OsStr,
    lookup: Lookup,
) -> Result<OsString> {
    match lookup {
        Lookup::ByDescriptor => read_link(link.as_fd()),
        Lookup::ByName => read_link_at(dir, name),
    }
}
