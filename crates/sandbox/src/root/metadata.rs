//! The part of stat(2) that decisions are made on.
//!
//! Invariant: it comes from a descriptor, or from a name in an open directory without following
//! links.

use crate::os_file::{FileType, Stat};
use picoclaw_policy::FileKind;

/// Device and inode: one object, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DevIno {
    dev: u64,
    ino: u64,
}

impl DevIno {
    /// Bytes for hashing.
    pub(super) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.dev.to_le_bytes());
        bytes[8..].copy_from_slice(&self.ino.to_le_bytes());
        bytes
    }
}

/// The part of `stat` that decisions are made on.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileMeta {
    id: DevIno,
    size: u64,
    modified: i64,
    file_type: FileType,
    mode: u32,
    uid: u32,
    gid: u32,
    hard_links: bool,
}

impl From<Stat> for FileMeta {
    #[expect(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the widths of `stat` differ between machines"
    )]
    fn from(stat: Stat) -> Self {
        Self {
            id: DevIno { dev: stat.st_dev as u64, ino: stat.st_ino as u64 },
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: i64::from(stat.st_mtime),
            file_type: FileType::from_raw_mode(stat.st_mode),
            mode: stat.st_mode as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            hard_links: stat.st_nlink > 1,
        }
    }
}

impl FileMeta {
    pub(super) fn id(&self) -> DevIno {
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

    #[cfg_attr(windows, expect(dead_code, reason = "access lists take the place of groups"))]
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

    /// The modification time in seconds since 1970.
    pub(super) fn modified(&self) -> i64 {
        self.modified
    }

    /// Whether a file has more than one link.
    pub(super) fn has_hard_links(&self) -> bool {
        self.hard_links
    }

    pub(super) fn is_link(&self) -> bool {
        self.file_type == FileType::Symlink
    }

    /// The kind for the policy check. A link that was not followed counts as special.
    pub(super) fn kind(&self) -> FileKind {
        match self.file_type {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            _ => FileKind::Special,
        }
    }

    /// Whether only root can add names to this directory, or owns this link.
    pub(super) fn is_root_controlled(&self) -> bool {
        self.uid() == 0 && (self.is_link() || self.mode() & 0o022 == 0)
    }
}
