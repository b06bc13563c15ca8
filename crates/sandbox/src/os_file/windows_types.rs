//! Windows: errors, flags and metadata under the names that they have on Unix.

use picoclaw_sys::windows::file::FileInfo;
use std::io;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Errno>;

/// An error of the system: a code of Win32, under the name of the closest one of Unix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(i32);

macro_rules! errors {
    ($($name:ident = $code:literal: $what:literal)*) => {
        impl Errno {
            $(
                #[doc = concat!("`", $what, "`.")]
                pub const $name: Self = Self($code);
            )*
        }
    };
}

errors! {
    NOENT = 2: "ERROR_FILE_NOT_FOUND"
    MFILE = 4: "ERROR_TOO_MANY_OPEN_FILES"
    ACCESS = 5: "ERROR_ACCESS_DENIED"
    BADF = 6: "ERROR_INVALID_HANDLE"
    NOMEM = 8: "ERROR_NOT_ENOUGH_MEMORY"
    XDEV = 17: "ERROR_NOT_SAME_DEVICE"
    ROFS = 19: "ERROR_WRITE_PROTECT"
    NXIO = 20: "ERROR_BAD_UNIT"
    BUSY = 32: "ERROR_SHARING_VIOLATION"
    AGAIN = 33: "ERROR_LOCK_VIOLATION"
    OPNOTSUPP = 50: "ERROR_NOT_SUPPORTED"
    NODEV = 55: "ERROR_DEV_NOT_EXIST"
    INVAL = 87: "ERROR_INVALID_PARAMETER"
    PIPE = 109: "ERROR_BROKEN_PIPE"
    NOSPC = 112: "ERROR_DISK_FULL"
    NOSYS = 120: "ERROR_CALL_NOT_IMPLEMENTED"
    ILSEQ = 123: "ERROR_INVALID_NAME"
    NOTEMPTY = 145: "ERROR_DIR_NOT_EMPTY"
    EXIST = 183: "ERROR_ALREADY_EXISTS"
    NAMETOOLONG = 206: "ERROR_FILENAME_EXCED_RANGE"
    NOTDIR = 267: "ERROR_DIRECTORY"
    ISDIR = 336: "ERROR_DIRECTORY_NOT_SUPPORTED"
    LOOP = 681: "ERROR_STOPPED_ON_SYMLINK"
    INTR = 995: "ERROR_OPERATION_ABORTED"
    STALE = 1006: "ERROR_FILE_INVALID"
    IO = 1117: "ERROR_IO_DEVICE"
    TXTBSY = 1224: "ERROR_USER_MAPPED_FILE"
    DQUOT = 1295: "ERROR_DISK_QUOTA_EXCEEDED"
    PERM = 1314: "ERROR_PRIVILEGE_NOT_HELD"
}

impl Errno {
    /// The error of a call of the standard library.
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        Some(match error.raw_os_error()? {
            // ERROR_PATH_NOT_FOUND, ERROR_BAD_NETPATH, ERROR_BAD_NET_NAME
            3 | 53 | 67 => Self::NOENT,
            // ERROR_FILE_EXISTS
            80 => Self::EXIST,
            // ERROR_HANDLE_DISK_FULL
            39 => Self::NOSPC,
            // ERROR_DELETE_PENDING
            303 => Self::ACCESS,
            code => Self(code),
        })
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self::from_io_error(&error).unwrap_or(match error.kind() {
            io::ErrorKind::InvalidInput => Self::INVAL,
            io::ErrorKind::InvalidFilename => Self::NAMETOOLONG,
            _ => Self::IO,
        })
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl std::error::Error for Errno {}

macro_rules! flags {
    ($(#[$doc:meta])* $kind:ident: $($name:ident = $bits:literal)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind(u32);

        #[expect(missing_docs, reason = "they are those of Unix")]
        impl $kind {
            $(pub const $name: Self = Self($bits);)*
        }

        impl $kind {
            /// None.
            pub const fn empty() -> Self {
                Self(0)
            }

            /// These and the others.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Whether all of the others are among these.
            pub const fn contains(self, other: Self) -> bool {
                other.0 != 0 && self.0 & other.0 == other.0
            }
        }

        impl std::ops::BitOr for $kind {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }
    };
}

flags! {
    /// How a file is opened.
    OFlags: RDONLY = 0 WRONLY = 1 RDWR = 2 CREATE = 4 EXCL = 8 TRUNC = 16 APPEND = 32 NOFOLLOW = 64
        DIRECTORY = 128 PATH = 256 NONBLOCK = 0 NOCTTY = 0 CLOEXEC = 0
}

flags! {
    /// How a name is looked up.
    AtFlags: SYMLINK_NOFOLLOW = 1 REMOVEDIR = 2
}

flags! {
    /// How a file is renamed.
    RenameFlags: NOREPLACE = 1
}

flags! {
    /// What a path may not cross.
    ResolveFlags: BENEATH = 1 NO_SYMLINKS = 2 NO_MAGICLINKS = 4 NO_XDEV = 8
}

flags! {
    /// Permission bits, which have no meaning here.
    Mode: RUSR = 0o400 WUSR = 0o200 RWXU = 0o700
}

/// The number of permission bits and of a file's type.
pub type RawMode = u32;

impl Mode {
    /// These bits.
    pub const fn from_raw_mode(bits: RawMode) -> Self {
        Self(bits & 0o7777)
    }

    /// The bits as a number.
    pub const fn bits(self) -> RawMode {
        self.0
    }
}

impl From<Mode> for RawMode {
    fn from(mode: Mode) -> Self {
        mode.0
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    RegularFile,
    /// A directory.
    Directory,
    /// A reparse point: a symbolic link, a junction or a mount.
    Symlink,
    /// A device. None has a name in a directory here.
    CharacterDevice,
    /// Not reported.
    Unknown,
}

impl FileType {
    const LINK: u32 = 0o120_000;
    const FILE: u32 = 0o100_000;
    const DIRECTORY: u32 = 0o040_000;

    /// The type in the mode of a [`Stat`].
    pub const fn from_raw_mode(mode: RawMode) -> Self {
        match mode & 0o170_000 {
            Self::LINK => Self::Symlink,
            Self::FILE => Self::RegularFile,
            Self::DIRECTORY => Self::Directory,
            _ => Self::Unknown,
        }
    }
}

/// What is known of a file.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "they are those of stat(2)")]
pub struct Stat {
    pub st_dev: u64,
    pub st_ino: u64,
    pub st_mode: RawMode,
    pub st_size: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: u64,
    pub st_ctime: i64,
    pub st_ctime_nsec: u64,
    pub st_uid: u32,
    pub st_gid: u32,
    pub st_nlink: u64,
    pub st_blocks: i64,
}

impl From<FileInfo> for Stat {
    fn from(info: FileInfo) -> Self {
        /// Seconds between 1601 and 1970.
        const EPOCH: i64 = 11_644_473_600;
        /// Units of time in a second.
        const UNITS: u64 = 10_000_000;
        let seconds = |time: u64| (time / UNITS).cast_signed() - EPOCH;
        let size = i64::try_from(info.size).unwrap_or(i64::MAX);
        let kind = match (info.is_reparse_point, info.is_directory) {
            (true, _) => FileType::LINK,
            (false, true) => FileType::DIRECTORY | 0o700,
            (false, false) => FileType::FILE | 0o600,
        };
        Self {
            st_dev: info.volume.into(),
            st_ino: info.index,
            st_mode: kind,
            st_size: size,
            st_mtime: seconds(info.modified),
            st_mtime_nsec: info.modified % UNITS * 100,
            st_ctime: seconds(info.changed),
            st_ctime_nsec: info.changed % UNITS * 100,
            st_uid: 0,
            st_gid: 0,
            st_nlink: info.links.into(),
            st_blocks: size / 512 + 1,
        }
    }
}

impl Stat {
    /// What it is.
    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.st_mode)
    }

    pub(crate) fn is_link(&self) -> bool {
        self.file_type() == FileType::Symlink
    }
}

/// A moment.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "they are those of timespec(3)")]
pub struct Timespec {
    pub tv_sec: i64,
    pub tv_nsec: i64,
}

/// Instead of nanoseconds: the current time.
pub const UTIME_NOW: i64 = -1;

/// The times of a file.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "they are those of utimensat(2)")]
pub struct Timestamps {
    pub last_access: Timespec,
    pub last_modification: Timespec,
}
