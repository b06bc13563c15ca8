//! The edition of a directory: which one it is, and as of which change.
//!
//! Whoever adds, removes or renames an entry, or puts another in its place, sets the directory's change time to what the
//! kernel's coarse clock shows, or later. A directory with the same change time has the same entries, if these hold:
//!
//! - The clock has moved on since. Two changes within one tick have the same time, so an edition counts only when its
//!   tick was over before anybody read the entries. Where times are stored in whole seconds, the second must be over.
//! - Nobody else sets that time. `utimensat` puts back the time of the contents, and thereby sets this one to now. A clock
//!   that is set back could bring it about again; only root sets clocks, and root can do as much by other means.
//! - The kernel itself keeps the names, in a file system that nobody else changes: not overlays, networks, FUSE.
//! - The names are not encrypted: those look different with their key and without, and nothing has changed.
//! - It is the same mount, by a number that is never used again (since Linux 6.8). Numbers of devices are, and
//!   the next disk may be anybody's.
//!
//! Invariant: of two equal editions, one of them settled before its entries were read, the entries are the same.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, StatxTimestamp, fstatfs, statx};
use rustix::time::{ClockId, clock_gettime};

/// `STATX_MNT_ID_UNIQUE`.
const MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// What must be known of a directory.
const NEEDED: StatxFlags = StatxFlags::INO.union(StatxFlags::CTIME).union(StatxFlags::MTIME).union(MOUNT);

/// File systems whose names and change times are the kernel's own work: ext2, ext3 and ext4; XFS; Btrfs; tmpfs; F2FS.
const OWN: [u32; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010];

/// Which directory, as of which change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edition {
    mount: u64,
    device: (u32, u32),
    inode: u64,
    changed: Moment,
    modified: Moment,
}

/// Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(i64, i64);

impl Edition {
    /// The edition of an open directory; `None` where that cannot be said.
    pub(super) fn of(dir: impl AsFd) -> Option<Self> {
        let stat = statx(dir, c"", AtFlags::EMPTY_PATH, NEEDED).ok()?;
        let is_known = StatxFlags::from_bits_retain(stat.stx_mask).contains(NEEDED);
        if !is_known || stat.stx_attributes.contains(StatxAttributes::ENCRYPTED) {
            return None;
        }
        Some(Self {
            mount: stat.stx_mnt_id,
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            changed: stat.stx_ctime.into(),
            modified: stat.stx_mtime.into(),
        })
    }

    /// Whether it is the same directory, before or after a change.
    pub(super) fn is_another_of(&self, other: &Self) -> bool {
        (self.mount, self.device, self.inode) == (other.mount, other.device, other.inode) && self != other
    }

    /// Whether every change from `now` on makes another edition.
    pub(super) fn is_settled(&self, now: Moment) -> bool {
        self.changed.is_over(now) && self.modified.is_over(now)
    }
}

impl Moment {
    /// What a change would be marked with now, at the least.
    pub(super) fn now() -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        #[expect(clippy::useless_conversion, reason = "the widths of a time differ between machines")]
        Self(i64::from(now.tv_sec), i64::from(now.tv_nsec))
    }

    /// Whether nothing can be marked with this moment any more.
    fn is_over(self, now: Self) -> bool {
        // Without a fraction, it may be a whole second that stands for all of its moments.
        if self.1 == 0 { self.0 < now.0 } else { self < now }
    }
}

impl From<StatxTimestamp> for Moment {
    fn from(time: StatxTimestamp) -> Self {
        Self(time.tv_sec, i64::from(time.tv_nsec))
    }
}

/// Whether the directory lies where editions can be told apart.
pub(super) fn are_told_apart(dir: impl AsFd) -> bool {
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "a number of 32 bits, in whatever type"
    )]
    fstatfs(dir).is_ok_and(|system| OWN.contains(&(system.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_is_settled_when_no_change_can_be_marked_with_its_time_any_more() {
        let at = |changed, modified| Edition { mount: 1, device: (1, 1), inode: 1, changed, modified };
        let (early, now, late) = (Moment(7, 400), Moment(8, 500), Moment(8, 501));
        for (why, edition, want) in [
            ("long ago", at(early, early), true),
            ("a nanosecond before", at(Moment(8, 499), early), true),
            ("within this tick", at(now, early), false),
            ("later than now: the clock was set back", at(late, early), false),
            ("contents of a later time, as somebody may set it", at(early, late), false),
            ("contents within this tick", at(early, now), false),
            ("a second that is over", at(Moment(7, 0), early), true),
            ("a second that may stand for all of its moments", at(Moment(8, 0), early), false),
            ("the same, of the contents", at(early, Moment(8, 0)), false),
            ("before 1970", at(Moment(-3, 5), Moment(-3, 0)), true),
        ] {
            assert_eq!(edition.is_settled(now), want, "{why}");
        }
    }
}
