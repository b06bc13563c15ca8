//! macOS: what Linux has and this system has not, done with calls that it has.
//!
//! There are no descriptors that only name an object: directories are opened for reading,
//! everything else is looked at by its name in an open directory, without following links.

use super::unix::{
    AsFd, AtFlags, BorrowedFd, CWD, Dir, Errno, FileType, Mode, OFlags, OwnedFd, Result, Stat, chmodat,
    open_parent, openat, statat,
};
use std::fs::File;
use std::io::Read as _;
use std::mem::MaybeUninit;
use std::path::Path;

/// Opens a directory to look names up in it. It has to be readable.
pub const O_PATH: OFlags = OFlags::RDONLY;

/// How a path is resolved: always without links and without a way up.
#[derive(Debug, Clone, Copy)]
pub struct ResolveFlags;

impl ResolveFlags {
    /// No way up.
    pub const BENEATH: Self = Self;
    /// No links of procfs.
    pub const NO_MAGICLINKS: Self = Self;
    /// No links.
    pub const NO_SYMLINKS: Self = Self;
    /// No other file system. It is not asked for: there are no bind mounts.
    pub const NO_XDEV: Self = Self;

    /// Both.
    pub const fn union(self, _other: Self) -> Self {
        self
    }
}

impl std::ops::BitOr for ResolveFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// Opens a path beneath a directory, one component after the other.
pub fn openat2(
    dir: impl AsFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    _resolve: ResolveFlags,
) -> Result<OwnedFd> {
    let (above, last) = open_parent(dir.as_fd(), path)?;
    openat(&above, last, flags | OFlags::NOFOLLOW, mode)
}

/// Opens a path beneath a directory without following a link.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    openat2(dir, path, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// What a path beneath a directory leads to, without following a link.
pub(crate) fn lstat_beneath(dir: BorrowedFd<'_>, path: &Path) -> Result<Stat> {
    let (above, last) = open_parent(dir, path)?;
    statat(&above, last, AtFlags::SYMLINK_NOFOLLOW)
}

/// Gives the owner of a directory all rights on it, without following a link.
pub(crate) fn open_to_owner(above: impl AsFd, name: &Path) -> Result<()> {
    let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || mode.contains(Mode::RWXU) {
        return Ok(());
    }
    chmodat(above, name, mode | Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

/// What a path leads to.
pub(crate) fn stat_path(path: &Path) -> Result<Stat> {
    statat(CWD, path, AtFlags::empty())
}

/// Device and inode: one object, whatever its name.
pub fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino)
}

/// There is no procfs: callers open the name again, and compare.
pub(crate) fn open_by_proc(_object: BorrowedFd<'_>, _flags: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOENT)
}

/// There is none.
pub(crate) fn is_on_procfs(_object: BorrowedFd<'_>) -> Result<bool> {
    Ok(false)
}

/// There are no bind mounts, by which something Protected could lie elsewhere too.
pub(crate) fn is_mount_root(_object: BorrowedFd<'_>) -> bool {
    false
}

/// It is not asked for.
pub(crate) fn read_boot_id() -> Option<Vec<u8>> {
    None
}

/// Random bytes for a secret.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    let device = openat(CWD, c"/dev/urandom", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(device).read_exact(bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Writes a file through to the medium, which fsync(2) alone does not do here.
pub fn fsync(file: impl AsFd) -> Result<()> {
    rustix::fs::fcntl_fullfsync(&file).or_else(|_| rustix::fs::fsync(&file))
}

/// There is none: callers read and write.
pub fn copy_file_range(
    _from: impl AsFd,
    _at: Option<&mut u64>,
    _to: impl AsFd,
    _there: Option<&mut u64>,
    _length: usize,
) -> Result<usize> {
    Err(Errno::NOSYS)
}

/// The entries of a directory.
#[derive(Debug)]
pub struct RawDir(std::result::Result<Dir, Option<Errno>>, Option<RawEntry>);

/// One entry of a directory.
pub type RawDirEntry<'a> = &'a RawEntry;
type RawEntry = rustix::fs::DirEntry;

impl RawDir {
    /// Reads a directory that is open for reading.
    pub fn new(dir: impl AsFd, _buffer: &mut [MaybeUninit<u8>]) -> Self {
        Self(Dir::read_from(dir).map_err(Some), None)
    }

    /// The next entry.
    #[expect(clippy::should_implement_trait, reason = "the entry borrows from the directory, as in rustix")]
    pub fn next(&mut self) -> Option<Result<RawDirEntry<'_>>> {
        match &mut self.0 {
            Ok(entries) => match entries.read()? {
                Ok(entry) => Some(Ok(self.1.insert(entry))),
                Err(errno) => Some(Err(errno)),
            },
            Err(errno) => errno.take().map(Err),
        }
    }
}
