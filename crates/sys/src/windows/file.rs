//! Files by a handle to their directory and a single name, as openat(2) does it: no path is
//! resolved twice.
//!
//! Invariant: a name relative to a directory is one component, and a reparse point is opened
//! itself, never followed.

use super::check;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr;
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_DISPOSITION_DELETE, FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE,
    FILE_DISPOSITION_INFORMATION, FILE_DISPOSITION_INFORMATION_EX, FILE_DISPOSITION_POSIX_SEMANTICS,
    FILE_INFORMATION_CLASS, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_IF, FILE_OPEN_REPARSE_POINT,
    FILE_RENAME_INFORMATION, FILE_RENAME_POSIX_SEMANTICS, FILE_RENAME_REPLACE_IF_EXISTS,
    FILE_SYNCHRONOUS_IO_NONALERT, FileDispositionInformation, FileDispositionInformationEx,
    FileRenameInformation, FileRenameInformationEx, NtCreateFile, NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_IO_PENDING, ERROR_LOCK_VIOLATION, ERROR_NO_MORE_FILES, NTSTATUS,
    OBJ_CASE_INSENSITIVE, OBJ_DONT_REPARSE, RtlNtStatusToDosError, STATUS_FILE_IS_A_DIRECTORY,
    STATUS_INVALID_INFO_CLASS, STATUS_INVALID_PARAMETER, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED,
    UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_APPEND_DATA, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_NORMAL,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_BASIC_INFO, FILE_GENERIC_READ, FILE_GENERIC_WRITE,
    FILE_ID_BOTH_DIR_INFO, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FILE_TRAVERSE, FILE_WRITE_DATA, FileBasicInfo, FileIdBothDirectoryInfo, FileIdBothDirectoryRestartInfo,
    GetFileInformationByHandle, GetFileInformationByHandleEx, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, SYNCHRONIZE, UnlockFileEx, WRITE_DAC,
};
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, OVERLAPPED};

/// The right to delete or rename, which is not among the rights of the storage module.
const DELETE: u32 = 0x0001_0000;

/// The bytes of one read of a directory.
const LIST_BYTES: usize = 64 << 10;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// To look at its attributes, or for names beneath it.
    Attributes,
    /// To read it, or to list it.
    Read,
    /// To write it.
    Write,
    /// To read and write it.
    ReadWrite,
    /// To read it, and to write at its end only.
    Append,
    /// To rename or remove it.
    Delete,
}

/// Whether a file is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// It must exist.
    Open,
    /// It is made if need be.
    OpenOrCreate,
    /// It must not exist.
    CreateNew,
}

/// What kind of file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Any.
    Any,
    /// No directory.
    File,
    /// A directory.
    Directory,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenHow {
    /// What for.
    pub access: FileAccess,
    /// Whether it is made.
    pub creation: Creation,
    /// What kind.
    pub wanted: Wanted,
    /// Whether a reparse point at the end of an absolute path is followed.
    pub follow: bool,
}

/// What a handle says about its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// The serial number of the volume.
    pub volume: u32,
    /// The number of the file on its volume.
    pub index: u64,
    /// How many names it has.
    pub links: u32,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written last, in units of 100 ns since 1601.
    pub modified: u64,
    /// When it or its attributes were changed last, in the same units.
    pub changed: u64,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it is a link, a junction, or another reparse point.
    pub is_reparse_point: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// The name.
    pub name: OsString,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it is a link, a junction, or another reparse point.
    pub is_reparse_point: bool,
}

/// Opens `name`, one component in `dir`. An empty name is `dir` itself, opened once more.
pub fn open_at(dir: BorrowedHandle<'_>, name: &OsStr, how: &OpenHow) -> io::Result<OwnedHandle> {
    let units = component(name)?;
    open(Some(dir), &units, &OpenHow { follow: false, ..*how })
}

/// One component of a path.
fn component(name: &OsStr) -> io::Result<Vec<u16>> {
    let units: Vec<u16> = name.encode_wide().collect();
    let separators = [b'\\', b'/', b':', 0].map(u16::from);
    if units.iter().any(|unit| separators.contains(unit)) || name == "." || name == ".." {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(units)
}

/// Opens an absolute path of the operator.
pub fn open_path(path: &std::path::Path, how: &OpenHow) -> io::Result<OwnedHandle> {
    let full = std::path::absolute(path)?;
    let units: Vec<u16> = full.as_os_str().encode_wide().collect();
    let starts_with = |prefix: &str| prefix.encode_utf16().eq(units.iter().take(prefix.len()).copied());
    let (prefix, rest) = match () {
        () if starts_with(r"\\?\") => (r"\??\", &units[4..]),
        // A device such as `NUL`.
        () if starts_with(r"\\.\") => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        () if starts_with(r"\\") => (r"\??\UNC\", &units[2..]),
        () => (r"\??\", &units[..]),
    };
    let units: Vec<u16> = prefix.encode_utf16().chain(rest.iter().copied()).collect();
    open(None, &units, how)
}

fn open(dir: Option<BorrowedHandle<'_>>, units: &[u16], how: &OpenHow) -> io::Result<OwnedHandle> {
    let bytes =
        u16::try_from(units.len() * 2).map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: units.as_ptr().cast_mut() };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: dir.map_or(ptr::null_mut(), |dir| dir.as_raw_handle()),
        ObjectName: &raw const name,
        // The directory itself may have become a junction since it was opened.
        Attributes: OBJ_CASE_INSENSITIVE | if dir.is_some() { OBJ_DONT_REPARSE } else { 0 },
        ..Default::default()
    };
    let access = SYNCHRONIZE
        | FILE_READ_ATTRIBUTES
        | match how.access {
            FileAccess::Attributes => 0,
            FileAccess::Read if how.wanted == Wanted::Directory => FILE_GENERIC_READ | FILE_TRAVERSE,
            FileAccess::Read => FILE_GENERIC_READ,
            FileAccess::Write => FILE_GENERIC_WRITE,
            // A new file gets the access list of the one that it replaces.
            FileAccess::ReadWrite if how.creation == Creation::CreateNew => {
                FILE_GENERIC_READ | FILE_GENERIC_WRITE | WRITE_DAC
            }
            FileAccess::ReadWrite => FILE_GENERIC_READ | FILE_GENERIC_WRITE,
            FileAccess::Append => {
                FILE_GENERIC_READ | (FILE_GENERIC_WRITE & !FILE_WRITE_DATA) | FILE_APPEND_DATA
            }
            FileAccess::Delete => DELETE,
        };
    let disposition = match how.creation {
        Creation::Open => FILE_OPEN,
        Creation::OpenOrCreate => FILE_OPEN_IF,
        Creation::CreateNew => FILE_CREATE,
    };
    let options = FILE_SYNCHRONOUS_IO_NONALERT
        | match how.wanted {
            Wanted::Any => 0,
            Wanted::File => FILE_NON_DIRECTORY_FILE,
            Wanted::Directory => FILE_DIRECTORY_FILE,
        }
        | if how.follow { 0 } else { FILE_OPEN_REPARSE_POINT };
    let (mut handle, mut status) = (ptr::null_mut(), IO_STATUS_BLOCK::default());
    // SAFETY: every pointer is to a local or to `units`, and outlives the call; `dir` is open.
    let code = unsafe {
        NtCreateFile(
            &raw mut handle,
            access,
            &raw const attributes,
            &raw mut status,
            ptr::null(),
            FILE_ATTRIBUTE_NORMAL,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            disposition,
            options,
            ptr::null(),
            0,
        )
    };
    succeeded(code)?;
    // SAFETY: the call succeeded and returned the handle to this caller alone.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// What the handle says about its file.
pub fn file_info(file: BorrowedHandle<'_>) -> io::Result<FileInfo> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the result is written to a local.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) })?;
    let mut basic = FILE_BASIC_INFO::default();
    let length = size_of::<FILE_BASIC_INFO>() as u32;
    // SAFETY: as above; the length is that of the structure.
    check(unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, (&raw mut basic).cast(), length)
    })?;
    let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    Ok(FileInfo {
        volume: info.dwVolumeSerialNumber,
        index: join(info.nFileIndexHigh, info.nFileIndexLow),
        links: info.nNumberOfLinks,
        size: join(info.nFileSizeHigh, info.nFileSizeLow),
        modified: join(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime),
        changed: basic.ChangeTime.cast_unsigned(),
        is_directory: info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY != 0,
        is_reparse_point: info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT != 0,
    })
}

/// Every name in a directory but `.` and `..`, from its beginning.
pub fn list(dir: BorrowedHandle<'_>) -> io::Result<Vec<ListedName>> {
    // In units of eight bytes, as the structures are aligned.
    let mut buffer = vec![0u64; LIST_BYTES / 8];
    let mut names = Vec::new();
    let mut class = FileIdBothDirectoryRestartInfo;
    loop {
        // SAFETY: the handle is open; pointer and length are those of the buffer.
        let more = check(unsafe {
            GetFileInformationByHandleEx(
                dir.as_raw_handle(),
                class,
                buffer.as_mut_ptr().cast(),
                LIST_BYTES as u32,
            )
        });
        match more {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(ERROR_NO_MORE_FILES.cast_signed()) => {
                return Ok(names);
            }
            Err(error) => return Err(error),
        }
        class = FileIdBothDirectoryInfo;
        let mut at = 0;
        loop {
            // SAFETY: the system has put a structure at this offset of the buffer, with its name
            // behind it.
            let (entry, name) = unsafe {
                let entry = buffer.as_ptr().cast::<u8>().add(at).cast::<FILE_ID_BOTH_DIR_INFO>();
                let units = (&raw const (*entry).FileName).cast::<u16>();
                (*entry, std::slice::from_raw_parts(units, (*entry).FileNameLength as usize / 2))
            };
            let name = OsString::from_wide(name);
            if name != "." && name != ".." {
                names.push(ListedName {
                    name,
                    is_directory: entry.FileAttributes & FILE_ATTRIBUTE_DIRECTORY != 0,
                    is_reparse_point: entry.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT != 0,
                });
            }
            if entry.NextEntryOffset == 0 {
                break;
            }
            at += entry.NextEntryOffset as usize;
        }
    }
}

/// Renames a file, opened with [`FileAccess::Delete`], to `name` in `dir`, in one step.
pub fn rename_at(
    file: BorrowedHandle<'_>,
    dir: BorrowedHandle<'_>,
    name: &OsStr,
    replace: bool,
) -> io::Result<()> {
    let units = component(name)?;
    let bytes = units.len() * 2;
    let header = std::mem::offset_of!(FILE_RENAME_INFORMATION, FileName);
    let mut buffer = vec![0u64; (size_of::<FILE_RENAME_INFORMATION>() + bytes).div_ceil(8)];
    let info = buffer.as_mut_ptr().cast::<FILE_RENAME_INFORMATION>();
    // SAFETY: the buffer is aligned and has room for the structure and for the name behind it.
    unsafe {
        (*info).RootDirectory = dir.as_raw_handle();
        (*info).FileNameLength = bytes as u32;
        ptr::copy_nonoverlapping(units.as_ptr(), buffer_name(info), units.len());
    }
    // The replaced file may be open elsewhere; it keeps its contents there.
    let flags = FILE_RENAME_POSIX_SEMANTICS | if replace { FILE_RENAME_REPLACE_IF_EXISTS } else { 0 };
    // SAFETY: as above.
    unsafe { (*info).Anonymous.Flags = flags };
    // Wine takes no less than the whole structure.
    let length = (header + bytes).max(size_of::<FILE_RENAME_INFORMATION>()) as u32;
    match set_information(file, info.cast(), length, FileRenameInformationEx) {
        Err(code) if is_unknown_class(code) => {
            // SAFETY: as above; the other bytes of the union are cleared first.
            unsafe {
                (*info).Anonymous.Flags = 0;
                (*info).Anonymous.ReplaceIfExists = replace;
            }
            set_information(file, info.cast(), length, FileRenameInformation).or_else(succeeded)
        }
        done => done.or_else(succeeded),
    }
}

fn buffer_name(info: *mut FILE_RENAME_INFORMATION) -> *mut u16 {
    // SAFETY: callers pass a pointer to a whole structure.
    unsafe { (&raw mut (*info).FileName).cast() }
}

/// Removes a file or an empty directory, opened with [`FileAccess::Delete`]: its name is free at
/// once where the system can.
pub fn remove(file: BorrowedHandle<'_>) -> io::Result<()> {
    let posix = FILE_DISPOSITION_INFORMATION_EX {
        Flags: FILE_DISPOSITION_DELETE
            | FILE_DISPOSITION_POSIX_SEMANTICS
            | FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE,
    };
    let length = size_of::<FILE_DISPOSITION_INFORMATION_EX>() as u32;
    match set_information(file, (&raw const posix).cast(), length, FileDispositionInformationEx) {
        Err(code) if is_unknown_class(code) => {
            let plain = FILE_DISPOSITION_INFORMATION { DeleteFile: true };
            let length = size_of::<FILE_DISPOSITION_INFORMATION>() as u32;
            set_information(file, (&raw const plain).cast(), length, FileDispositionInformation)
                .or_else(succeeded)
        }
        done => done.or_else(succeeded),
    }
}

/// Older systems and other file systems lack the newer classes.
fn is_unknown_class(code: NTSTATUS) -> bool {
    [STATUS_INVALID_INFO_CLASS, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED, STATUS_INVALID_PARAMETER]
        .contains(&code)
}

fn set_information(
    file: BorrowedHandle<'_>,
    information: *const std::ffi::c_void,
    length: u32,
    class: FILE_INFORMATION_CLASS,
) -> Result<(), NTSTATUS> {
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: callers pass the structure that belongs to `class`, with its length; the handle is
    // open.
    let code =
        unsafe { NtSetInformationFile(file.as_raw_handle(), &raw mut status, information, length, class) };
    if code < 0 { Err(code) } else { Ok(()) }
}

fn succeeded(code: NTSTATUS) -> io::Result<()> {
    if code >= 0 {
        return Ok(());
    }
    let error = if code == STATUS_FILE_IS_A_DIRECTORY {
        // Otherwise it could not be told from a denied access.
        ERROR_DIRECTORY_NOT_SUPPORTED
    } else {
        // SAFETY: it takes any number.
        unsafe { RtlNtStatusToDosError(code) }
    };
    Err(io::Error::from_raw_os_error(error.cast_signed()))
}

/// Locks a file; whether it is locked now. The lock is on a byte far behind its end, because a lock
/// on Windows keeps other handles from reading what is locked.
pub fn lock(file: BorrowedHandle<'_>, exclusive: bool, wait: bool) -> io::Result<bool> {
    let flags = if exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 }
        | if wait { 0 } else { LOCKFILE_FAIL_IMMEDIATELY };
    let mut place = lock_place();
    // SAFETY: the handle is open for synchronous calls, so that `place` is not used after the call.
    match check(unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut place) }) {
        Ok(()) => Ok(true),
        Err(error) => {
            let is_held = [ERROR_LOCK_VIOLATION, ERROR_IO_PENDING].map(|code| Some(code.cast_signed()));
            if is_held.contains(&error.raw_os_error()) { Ok(false) } else { Err(error) }
        }
    }
}

/// Unlocks a file.
pub fn unlock(file: BorrowedHandle<'_>) -> io::Result<()> {
    let mut place = lock_place();
    // SAFETY: as in `lock`.
    check(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) })
}

fn lock_place() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = 0x7fff_ffff;
    place
}
