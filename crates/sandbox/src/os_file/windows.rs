//! Windows: the same calls on handles.
//!
//! Invariant: a name relative to a directory is one component, and a reparse point (a symbolic
//! link, a junction, a mount) is never followed there.

pub use super::windows_types::{
    AtFlags, Errno, FileType, Mode, OFlags, RawMode, RenameFlags, ResolveFlags, Result, Stat, Timespec,
    Timestamps, UTIME_NOW,
};
pub use std::os::windows::io::{BorrowedHandle as BorrowedFd, OwnedHandle as OwnedFd};

use super::Sharing;
use picoclaw_sys::windows::file::{self, Creation, FileAccess, ListedName, OpenHow, Wanted};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::windows::fs::FileExt as _;
use std::os::windows::io::AsHandle;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// What has a handle.
pub trait AsFd {
    /// The handle.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl<T: AsHandle> AsFd for T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_handle()
    }
}

/// Where a name is looked up.
pub trait AsDir {
    /// The directory; `None` for paths from the working directory.
    fn as_dir(&self) -> Option<BorrowedFd<'_>>;
}

impl<T: AsHandle> AsDir for T {
    fn as_dir(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_handle())
    }
}

/// Paths from the working directory.
#[derive(Debug, Clone, Copy)]
pub struct WorkingDir;

/// Paths from the working directory.
pub const CWD: WorkingDir = WorkingDir;

impl AsDir for WorkingDir {
    fn as_dir(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// What names a file.
pub trait Arg {
    /// The name; `None` when it is not valid Unicode and cannot be opened.
    fn name(&self) -> Option<Cow<'_, OsStr>>;
}

macro_rules! names {
    ($($kind:ty),*) => {$(
        impl Arg for $kind {
            fn name(&self) -> Option<Cow<'_, OsStr>> {
                Some(Cow::Borrowed(AsRef::<OsStr>::as_ref(self)))
            }
        }
    )*};
}

names!(str, String, OsStr, OsString, Path, PathBuf);

impl Arg for CStr {
    fn name(&self) -> Option<Cow<'_, OsStr>> {
        Some(Cow::Borrowed(OsStr::new(self.to_str().ok()?)))
    }
}

impl Arg for CString {
    fn name(&self) -> Option<Cow<'_, OsStr>> {
        Some(Cow::Owned(self.to_str().ok()?.into()))
    }
}

impl<T: Arg + ?Sized> Arg for &T {
    fn name(&self) -> Option<Cow<'_, OsStr>> {
        (**self).name()
    }
}

/// Reads and writes at an offset.
pub trait FileExt {
    /// Reads at an offset; the number of bytes.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at an offset; the number of bytes.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills `bytes` from an offset.
    fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, offset)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                count => {
                    bytes = &mut bytes[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }

    /// Writes all of `bytes` at an offset.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset)? {
                0 => return Err(io::Error::from(io::ErrorKind::WriteZero)),
                count => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }
}

impl FileExt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.seek_write(bytes, offset)
    }
}

/// Opens a file.
pub fn openat(dir: impl AsDir, name: impl Arg, flags: OFlags, _mode: Mode) -> Result<OwnedFd> {
    let name = name.name().ok_or(Errno::ILSEQ)?;
    let is_written = flags.contains(OFlags::WRONLY) || flags.contains(OFlags::RDWR);
    let access = match () {
        () if flags.contains(OFlags::PATH) => FileAccess::Attributes,
        () if is_written && flags.contains(OFlags::APPEND) => FileAccess::Append,
        () if flags.contains(OFlags::RDWR) => FileAccess::ReadWrite,
        () if is_written => FileAccess::Write,
        () => FileAccess::Read,
    };
    let creation = match () {
        () if flags.contains(OFlags::CREATE | OFlags::EXCL) => Creation::CreateNew,
        () if flags.contains(OFlags::CREATE) => Creation::OpenOrCreate,
        () => Creation::Open,
    };
    let wanted = match () {
        () if flags.contains(OFlags::DIRECTORY) => Wanted::Directory,
        () if is_written || flags.contains(OFlags::CREATE) => Wanted::File,
        () => Wanted::Any,
    };
    let follow = dir.as_dir().is_none() && !flags.contains(OFlags::NOFOLLOW);
    let opened = open(&dir, &name, &OpenHow { access, creation, wanted, follow })?;
    // As with O_NOFOLLOW: a link can be looked at, and not be used.
    if !flags.contains(OFlags::PATH) && fstat(&opened)?.is_link() {
        return Err(if flags.contains(OFlags::DIRECTORY) { Errno::NOTDIR } else { Errno::LOOP });
    }
    if flags.contains(OFlags::TRUNC) {
        File::from(opened.try_clone()?).set_len(0)?;
    }
    Ok(opened)
}

/// Opens a path beneath a directory, one component after the other. No reparse point is followed,
/// whatever `_resolve` says; one at the end can be looked at.
pub fn openat2(
    dir: impl AsFd,
    path: impl Arg,
    flags: OFlags,
    mode: Mode,
    _resolve: ResolveFlags,
) -> Result<OwnedFd> {
    let path = path.name().ok_or(Errno::ILSEQ)?;
    let mut names = Vec::new();
    for part in Path::new(&*path).components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(Errno::XDEV),
        }
    }
    let last = names.pop().unwrap_or(OsStr::new("."));
    let mut at = dir.as_fd().try_clone_to_owned()?;
    for name in names {
        at = openat(&at, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        if fstat(&at)?.is_link() {
            return Err(Errno::LOOP);
        }
    }
    let opened = openat(&at, last, flags, mode)?;
    if !flags.contains(OFlags::NOFOLLOW) && fstat(&opened)?.is_link() {
        return Err(Errno::LOOP);
    }
    Ok(opened)
}

/// Opens a path beneath a directory without following a link.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    openat2(dir, path, flags | OFlags::NOFOLLOW, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn open(dir: &impl AsDir, name: &OsStr, how: &OpenHow) -> Result<OwnedFd> {
    Ok(match dir.as_dir() {
        _ if name.is_empty() => return Err(Errno::NOENT),
        Some(dir) if name == "." => file::open_at(dir, OsStr::new(""), how)?,
        Some(dir) => file::open_at(dir, name, how)?,
        None => file::open_path(Path::new(name), how)?,
    })
}

/// Opens something, whatever it is, to look at it or to remove it.
fn open_itself(dir: &impl AsDir, name: &impl Arg, access: FileAccess) -> Result<OwnedFd> {
    let how = OpenHow { access, creation: Creation::Open, wanted: Wanted::Any, follow: false };
    open(dir, &name.name().ok_or(Errno::ILSEQ)?, &how)
}

/// What a handle leads to.
pub fn fstat(file: impl AsFd) -> Result<Stat> {
    Ok(Stat::from(file::file_info(file.as_fd())?))
}

/// What a name stands for.
pub fn statat(dir: impl AsDir, name: impl Arg, flags: AtFlags) -> Result<Stat> {
    let follow = dir.as_dir().is_none() && !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
    let how =
        OpenHow { access: FileAccess::Attributes, creation: Creation::Open, wanted: Wanted::Any, follow };
    fstat(open(&dir, &name.name().ok_or(Errno::ILSEQ)?, &how)?)
}

/// Makes a directory.
pub fn mkdirat(dir: impl AsDir, name: impl Arg, _mode: Mode) -> Result<()> {
    let how = OpenHow {
        access: FileAccess::Attributes,
        creation: Creation::CreateNew,
        wanted: Wanted::Directory,
        follow: false,
    };
    open(&dir, &name.name().ok_or(Errno::ILSEQ)?, &how).map(drop)
}

/// Removes a file or, with [`AtFlags::REMOVEDIR`], an empty directory.
pub fn unlinkat(dir: impl AsDir, name: impl Arg, flags: AtFlags) -> Result<()> {
    let object = open_itself(&dir, &name, FileAccess::Delete)?;
    let is_directory = fstat(&object)?.file_type() == FileType::Directory;
    match (is_directory, flags.contains(AtFlags::REMOVEDIR)) {
        (true, false) => Err(Errno::ISDIR),
        (false, true) => Err(Errno::NOTDIR),
        _ => Ok(file::remove(object.as_fd())?),
    }
}

/// Renames, and replaces what has the new name.
pub fn renameat(from: impl AsDir, old: impl Arg, to: impl AsDir, new: impl Arg) -> Result<()> {
    renameat_with(from, old, to, new, RenameFlags::empty())
}

/// Renames.
pub fn renameat_with(
    from: impl AsDir,
    old: impl Arg,
    to: impl AsDir,
    new: impl Arg,
    flags: RenameFlags,
) -> Result<()> {
    let object = open_itself(&from, &old, FileAccess::Delete)?;
    let new = new.name().ok_or(Errno::ILSEQ)?;
    let replace = !flags.contains(RenameFlags::NOREPLACE);
    if let Some(dir) = to.as_dir() {
        return Ok(file::rename_at(object.as_fd(), dir, &new, replace)?);
    }
    let full = std::path::absolute(&*new)?;
    let (parent, name) = full.parent().zip(full.file_name()).ok_or(Errno::INVAL)?;
    let parent = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    Ok(file::rename_at(object.as_fd(), parent.as_fd(), name, replace)?)
}

/// Windows renames without replacing, so no second name is needed.
pub fn linkat(_: impl AsDir, _: impl Arg, _: impl AsDir, _: impl Arg, _: AtFlags) -> Result<()> {
    Err(Errno::NOSYS)
}

/// Writes a file to the disk. The names in a directory are in the file system's journal.
pub fn fsync(file: impl AsFd) -> Result<()> {
    if fstat(file.as_fd())?.file_type() == FileType::Directory {
        return Ok(());
    }
    Ok(as_file(&file)?.sync_all()?)
}

/// Sets the time of the last write to now.
pub fn futimens(file: impl AsFd, _times: &Timestamps) -> Result<()> {
    Ok(as_file(&file)?.set_modified(SystemTime::now())?)
}

/// Access lists take the place of modes, and new files inherit them.
pub fn fchmod(_file: impl AsFd, _mode: Mode) -> Result<()> {
    Ok(())
}

/// Access lists take the place of modes, and new files inherit them.
pub fn chmodat(_dir: impl AsDir, _name: impl Arg, _mode: Mode, _flags: AtFlags) -> Result<()> {
    Ok(())
}

/// Access lists take the place of modes.
pub(crate) fn open_to_owner(_above: impl AsDir, _name: &Path) -> Result<()> {
    Ok(())
}

/// Callers read and write where this does not work.
pub fn copy_file_range(
    _from: impl AsFd,
    _from_offset: Option<&mut u64>,
    _to: impl AsFd,
    _to_offset: Option<&mut u64>,
    _length: usize,
) -> Result<usize> {
    Err(Errno::NOSYS)
}

/// Reads from where the file stands.
pub fn read(file: impl AsFd, bytes: &mut [u8]) -> Result<usize> {
    Ok(as_file(&file)?.read(bytes)?)
}

/// Writes where the file stands.
pub fn write(file: impl AsFd, bytes: &[u8]) -> Result<usize> {
    Ok(as_file(&file)?.write(bytes)?)
}

/// Reads at an offset into the room that `bytes` has left; the number of bytes.
pub(crate) fn pread_spare(file: BorrowedFd<'_>, bytes: &mut Vec<u8>, offset: u64) -> Result<usize> {
    let length = bytes.len();
    bytes.resize(bytes.capacity(), 0);
    let read = as_file(&file).and_then(|file| Ok(file.seek_read(&mut bytes[length..], offset)?));
    bytes.truncate(length + read.as_ref().copied().unwrap_or_default());
    read
}

/// Locks a file, if that is possible now.
pub(crate) fn try_lock(file: &File, sharing: Sharing) -> std::result::Result<(), TryLockError> {
    match file::lock(file.as_handle(), sharing == Sharing::Exclusive, false) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TryLockError::WouldBlock),
        Err(error) => Err(TryLockError::Error(error)),
    }
}

/// Locks a file.
pub(crate) fn lock(file: &File, sharing: Sharing) -> io::Result<()> {
    file::lock(file.as_handle(), sharing == Sharing::Exclusive, true).map(drop)
}

/// Unlocks a file.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    file::unlock(file.as_handle())
}

/// Removes everything behind `length`, also from a file that is open for appending.
pub(crate) fn truncate(file: &File, length: u64) -> io::Result<()> {
    let how =
        OpenHow { access: FileAccess::Write, creation: Creation::Open, wanted: Wanted::File, follow: false };
    File::from(file::open_at(file.as_handle(), OsStr::new(""), &how)?).set_len(length)
}

/// Opens a name to look at it, whatever it is, and nothing more.
pub const O_PATH: OFlags = OFlags::PATH;

/// Volume and file number: one object, whatever its name.
pub fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// There is no procfs: callers open the name again, and compare.
pub(crate) fn open_by_proc(_object: BorrowedFd<'_>, _flags: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOENT)
}

/// There is none that stays the same until the next start and is not used again.
pub(crate) fn read_boot_id() -> Option<Vec<u8>> {
    None
}

/// Makes a directory and those above it. It inherits the access list of the user's profile.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Not known: access lists take the place of modes.
pub(crate) fn is_open_to_others(_path: &Path) -> bool {
    false
}

/// Access lists take the place of modes.
pub(crate) fn make_private(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Random bytes for a secret.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    Ok(picoclaw_sys::windows::fill_random(bytes)?)
}

/// There is none.
pub(crate) fn is_on_procfs(_object: BorrowedFd<'_>) -> Result<bool> {
    Ok(false)
}

/// A mount is a reparse point, which is not followed.
pub(crate) fn is_mount_root(_object: BorrowedFd<'_>) -> bool {
    false
}

/// No reparse point is followed: where one leads is not always a path.
pub(crate) fn read_link(_link: BorrowedFd<'_>) -> Result<OsString> {
    Err(Errno::NOSYS)
}

/// As [`read_link`].
pub(crate) fn read_link_at(_dir: BorrowedFd<'_>, _name: &OsStr) -> Result<OsString> {
    Err(Errno::NOSYS)
}

/// A name as the system has it. One that is not valid Unicode is empty, and cannot be opened.
pub(crate) fn os_str(bytes: &[u8]) -> &OsStr {
    OsStr::new(str::from_utf8(bytes).unwrap_or_default())
}

/// Access lists say who owns a file.
pub(crate) fn owner_of_new_files() -> (u32, u32) {
    (0, 0)
}

fn as_file(handle: &impl AsFd) -> Result<File> {
    Ok(File::from(handle.as_fd().try_clone_to_owned()?))
}

/// The entries of a directory.
#[derive(Debug)]
pub struct Dir {
    handle: OwnedFd,
    entries: std::vec::IntoIter<DirEntry>,
}

/// One entry of a directory.
#[derive(Debug)]
pub struct DirEntry {
    name: CString,
    kind: FileType,
}

impl Dir {
    /// Reads a directory.
    pub fn new(dir: OwnedFd) -> Result<Self> {
        let entries = entries(dir.as_fd())?.into_iter();
        Ok(Self { handle: dir, entries })
    }

    /// Reads a directory through a handle of its own.
    pub fn read_from(dir: impl AsFd) -> Result<Self> {
        Self::new(openat(dir.as_fd(), ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?)
    }

    /// The next entry.
    pub fn read(&mut self) -> Option<Result<DirEntry>> {
        self.next()
    }

    /// The directory.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        Ok(self.handle.as_fd())
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(Ok)
    }
}

impl DirEntry {
    /// Its name.
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// What it is.
    pub fn file_type(&self) -> FileType {
        self.kind
    }
}

/// As [`Dir`].
#[derive(Debug)]
pub struct RawDir(std::result::Result<std::vec::IntoIter<DirEntry>, Option<Errno>>, Option<DirEntry>);

/// One entry of a directory.
pub type RawDirEntry<'a> = &'a DirEntry;

impl RawDir {
    /// Reads a directory that is open for reading.
    pub fn new(dir: impl AsFd, _buffer: &mut [MaybeUninit<u8>]) -> Self {
        Self(entries(dir.as_fd()).map(Vec::into_iter).map_err(Some), None)
    }

    /// The next entry.
    #[expect(clippy::should_implement_trait, reason = "the entry borrows from the directory, as in rustix")]
    pub fn next(&mut self) -> Option<Result<RawDirEntry<'_>>> {
        match &mut self.0 {
            Ok(entries) => self.1 = entries.next(),
            Err(errno) => return errno.take().map(Err),
        }
        self.1.as_ref().map(Ok)
    }
}

fn entries(dir: BorrowedFd<'_>) -> Result<Vec<DirEntry>> {
    Ok(file::list(dir)?.into_iter().filter_map(entry).collect())
}

fn entry(listed: ListedName) -> Option<DirEntry> {
    let kind = match (listed.is_reparse_point, listed.is_directory) {
        (true, _) => FileType::Symlink,
        (false, true) => FileType::Directory,
        (false, false) => FileType::RegularFile,
    };
    Some(DirEntry { name: CString::new(listed.name.as_encoded_bytes()).ok()?, kind })
}
