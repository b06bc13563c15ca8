//! Covers mounts beneath a shown directory that are no ordinary file systems.
//!
//! A bind mount brings the mounts beneath along. In a project with a chroot tree these are `proc`,
//! `sysfs` and devices: the host's processes and kernel settings. A path that the operator names
//! itself is shown as it is.

use crate::isolate::host_files::HostEntryKind;
use crate::isolate::linux::host_sockets::{innermost, is_own};
use crate::isolate::mount_rules::MountRule;
use crate::os_file::mount_table::{Mount, MountTable};
use picoclaw_policy::config::ExposeMode;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// File systems that hold files and nothing else. `autofs` shows only what is mounted in it, which
/// has a type of its own.
const ORDINARY: [&str; 52] = [
    "9p",
    "affs",
    "afs",
    "apfs",
    "aufs",
    "autofs",
    "bcachefs",
    "beegfs",
    "btrfs",
    "ceph",
    "cifs",
    "cramfs",
    "drvfs",
    "ecryptfs",
    "erofs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "fuse",
    "fuseblk",
    "gfs2",
    "glusterfs",
    "gpfs",
    "hfs",
    "hfsplus",
    "iso9660",
    "jffs2",
    "jfs",
    "lustre",
    "msdos",
    "nfs",
    "nfs4",
    "nilfs2",
    "ntfs",
    "ntfs3",
    "ocfs2",
    "overlay",
    "prl_fs",
    "ramfs",
    "reiserfs",
    "smb3",
    "squashfs",
    "tmpfs",
    "ubifs",
    "udf",
    "vboxsf",
    "vfat",
    "virtiofs",
    "xfs",
    "zfs",
];

/// Where the host keeps sockets, FIFOs and memory of its programs, mostly in file systems of type
/// tmpfs.
const RUNTIME: [&str; 2] = ["/dev", "/run"];

/// A mount that a cage covers.
#[derive(Debug)]
pub(super) struct KernelMount {
    /// Its path on the host.
    pub(super) point: PathBuf,
    /// The type of its file system.
    pub(super) file_system: String,
    /// Whether the directory above is shown read-write.
    pub(super) is_writable: bool,
    /// What covers it.
    pub(super) cover: MountRule,
}

/// The mounts to cover in what these rules show, as they are now.
pub(super) fn kernel_mounts(rules: &[MountRule]) -> Vec<KernelMount> {
    let table = MountTable::read();
    rules.iter().flat_map(|rule| in_rule(rule, rules, &table)).collect()
}

/// Those in what one rule shows, outermost first; what lies in a covered mount is covered with it.
fn in_rule(rule: &MountRule, rules: &[MountRule], table: &MountTable) -> Vec<KernelMount> {
    let mut found: Vec<KernelMount> = Vec::new();
    let MountRule::Bind { source, target, mode, kind: HostEntryKind::Directory, .. } = rule else {
        return found;
    };
    let mut covered: Vec<_> =
        table.mounts().iter().filter(|mount| is_covered(mount, source, table)).collect();
    covered.sort_by_key(|mount| mount.point.components().count());
    for mount in covered {
        let Some((path, kind)) = visible(mount, source) else { continue };
        let seen = target.join(path.strip_prefix(source).unwrap_or(&path));
        let is_within = found.iter().any(|outer| seen.starts_with(outer.cover.target()));
        // Another rule may show something else there, or this very mount.
        if !is_within && innermost(rules, &seen) == Some(rule) {
            let (point, file_system) = (mount.point.clone(), mount.kind.clone());
            let is_writable = *mode == ExposeMode::ReadWrite;
            let cover = MountRule::Hide { target: seen, kind };
            found.push(KernelMount { point, file_system, is_writable, cover });
        }
    }
    found
}

fn is_covered(mount: &Mount, tree: &Path, table: &MountTable) -> bool {
    if mount.point == tree || !mount.point.starts_with(tree) {
        return false;
    }
    let is_ordinary = ORDINARY.contains(&mount.kind.as_str()) || mount.kind.starts_with("fuse.");
    let is_runtime = |other: &Mount| {
        let overlaps = other.root.starts_with(&mount.root) || mount.root.starts_with(&other.root);
        let is_outside = !other.point.starts_with(tree);
        let is_named = RUNTIME.iter().any(|top| other.point.starts_with(top));
        other.device == mount.device && overlaps && is_outside && is_named
    };
    let is_memory = ["tmpfs", "ramfs"].contains(&mount.kind.as_str());
    !is_ordinary || (is_memory && table.mounts().iter().any(is_runtime))
}

/// What is to be covered for `mount`, and what it is; `None` where another mount lies over it.
fn visible(mount: &Mount, tree: &Path) -> Option<(PathBuf, HostEntryKind)> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let wanted = StatxFlags::TYPE | StatxFlags::MNT_ID;
    match statx(CWD, &mount.point, flags, wanted) {
        Ok(found) => {
            // Before Linux 5.8 the number is not known.
            let is_other = found.stx_mask & StatxFlags::MNT_ID.bits() != 0 && found.stx_mnt_id != mount.id;
            // `/dev/null`, as cages put it over a file that they hide.
            let is_null = (found.stx_rdev_major, found.stx_rdev_minor) == (1, 3);
            let is_directory = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
            let kind = if is_directory { HostEntryKind::Directory } else { HostEntryKind::File };
            (!is_other && !is_null).then(|| (mount.point.clone(), kind))
        }
        // In a directory that the child could open again.
        Err(Errno::ACCESS) => {
            let mut above = mount.point.ancestors().skip(1).take_while(|above| above.starts_with(tree));
            let closed = above.find(|above| statx(CWD, *above, flags, wanted).is_ok())?;
            is_own(closed).then(|| (closed.to_owned(), HostEntryKind::Directory))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => None,
        Err(_) => Some((mount.point.clone(), HostEntryKind::Directory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_file_systems_stay_and_all_others_are_covered() {
        let tree = Path::new("/home/u/project");
        let host = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw\n\
            3 1 0:6 / /run rw - tmpfs tmpfs rw\n4 1 0:7 /own /dev/own rw - tmpfs tmpfs rw\n";
        for (device, root, point, kind, covers) in [
            ("254:1", "/", "m", "ext4", false),
            ("0:30", "/", "m", "tmpfs", false),
            ("0:30", "/", "m", "fuse.sshfs", false),
            ("0:30", "/", "m", "autofs", false),
            ("0:30", "/", "m", "fusectl", true),
            ("0:30", "/", "m", "proc", true),
            ("0:30", "/kernel", "m", "sysfs", true),
            ("0:30", "net:[1]", "m", "nsfs", true),
            ("0:30", "/", "m", "a-type-of-tomorrow", true),
            // The host's, under another name: as a whole, a part of it, or what holds it.
            ("0:5", "/", "m", "tmpfs", true),
            ("0:6", "/user/1000", "m", "tmpfs", true),
            ("0:7", "/", "m", "tmpfs", true),
            ("0:7", "/other", "m", "tmpfs", false),
            // The tree itself, and one beside it.
            ("0:30", "/", "", "proc", false),
            ("0:30", "/", "../projects", "proc", false),
        ] {
            let point = if point == "../projects" { "/home/u/projects".into() } else { tree.join(point) };
            let point = point.display().to_string();
            let line =
                format!("9 1 {device} {root} {} rw shared:1 - {kind} none rw\n", point.trim_end_matches('/'));
            let table = MountTable::parse(format!("{host}{line}").as_bytes());
            let mount = table.mounts().last().unwrap();
            assert_eq!(is_covered(mount, tree, &table), covers, "{line}");
        }
        // What lies in a shown `/run` is shown with it.
        let table =
            MountTable::parse(b"3 1 0:6 / /run rw - tmpfs x rw\n4 3 0:8 / /run/user/1 rw - tmpfs x rw\n");
        assert!(!is_covered(table.mounts().last().unwrap(), Path::new("/run"), &table));
    }
}
