//! What the kernel says about an object, once it has been opened.
//!
//! Invariant: facts come from a handle, or from a name in a held directory without following it; never from a path.

use picoclaw_policy::FileKind;
use rustix::fs::{FileType, Stat};

/// One object on this machine, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    dev: u64,
    ino: u64,
}

impl Identity {
    /// Bytes that stand for this object, for hashing.
    pub(super) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.dev.to_le_bytes());
        bytes[8..].copy_from_slice(&self.ino.to_le_bytes());
        bytes
    }
}

/// The part of `stat` that decisions are made on; small, since every look carries it along.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    id: Identity,
    size: u64,
    modified: i64,
    mode: u32,
    uid: u32,
    gid: u32,
    other_names: bool,
}

impl From<Stat> for Facts {
    #[expect(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the widths of `stat` differ between machines"
    )]
    fn from(stat: Stat) -> Self {
        Self {
            id: Identity { dev: stat.st_dev as u64, ino: stat.st_ino as u64 },
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: i64::from(stat.st_mtime),
            mode: stat.st_mode as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            other_names: stat.st_nlink > 1,
        }
    }
}

impl Facts {
    pub(super) fn id(&self) -> Identity {
        self.id
    }

    pub(super) fn dev(&self) -> u64 {
        self.id.dev
    }

    pub(super) fn ino(&self) -> u64 {
        self.id.ino
    }

    pub(super) fn uid(&self) -> u32 {
        self.uid
    }

    pub(super) fn gid(&self) -> u32 {
        self.gid
    }

    /// Permission bits with set-id and sticky.
    pub(super) fn mode(&self) -> u32 {
        self.mode & 0o7777
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// When the contents last changed, in whole seconds since 1970.
    pub(super) fn modified(&self) -> i64 {
        self.modified
    }

    /// Whether a file goes by more than one name.
    pub(super) fn has_other_names(&self) -> bool {
        self.other_names
    }

    fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub(super) fn is_link(&self) -> bool {
        self.file_type() == FileType::Symlink
    }

    /// The kind as the desk knows it. A link that was not followed is nothing that anybody may open.
    pub(super) fn kind(&self) -> FileKind {
        match self.file_type() {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            _ => FileKind::Special,
        }
    }

    /// Whether only the system's own account can put names into this directory, or own this link.
    pub(super) fn is_systems_own(&self) -> bool {
        self.uid() == 0 && (self.is_link() || self.mode() & 0o022 == 0)
    }
}
