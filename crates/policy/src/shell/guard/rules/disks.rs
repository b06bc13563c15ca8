//! Disks: formatting, partitioning, imaging, mounting. Writing to a device is judged with the
//! paths.

use super::{Rule, always};
use crate::shell::guard::partial_word::PartialWord;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "format",
        why: "formats a disk",
        programs: "mkfs* diskpart mke2fs mkswap newfs* mkdosfs mkntfs format.com",
        when: always,
        stops: &["mkfs x.img", "mkfs.ext4 x.img", "diskpart"],
        spares: &["clang-format -i x.c", "echo mkfs"],
    },
    Rule {
        name: "format",
        why: "formats a disk",
        programs: "format",
        // A project may have a script of that name; it has no drive as an argument.
        when: |call| {
            let drive = |arg: &str| arg.starts_with(['/', '\\']) || arg.as_bytes().get(1) == Some(&b':');
            call.args.iter().any(|arg| drive(arg.as_str()))
        },
        stops: &["format c:", "format D: /q"],
        spares: &["scripts/format", "scripts/format src", "npm run format"],
    },
    Rule {
        name: "disk-imaging",
        why: "`dd` copies whole devices",
        programs: "dd dcfldd dc3dd ddrescue",
        when: |call| {
            let unknown = |arg: &PartialWord| arg.is_open() && !arg.as_str().contains('=');
            call.args.iter().any(|arg| {
                arg.as_str().starts_with("if=") || arg.as_str().starts_with("of=/") || unknown(arg)
            }) || call.name == "ddrescue"
        },
        stops: &["dd if=a of=b", "dd bs=1 of=/dev/sdb if=a"],
        spares: &["dd --version"],
    },
    Rule {
        name: "partition",
        why: "changes partitions, signatures or volumes",
        programs: "fdisk sfdisk cfdisk gdisk sgdisk cgdisk parted partprobe wipefs blkdiscard hdparm sdparm \
                   badblocks nvme lvremove lvcreate lvresize vgremove vgcreate pvcreate pvremove mdadm \
                   cryptsetup zpool losetup dmsetup tune2fs resize2fs fsck* e2fsck debugfs",
        when: |call| {
            let lists = call.surely_has("", "l I list version help")
                || matches!(call.subcommand(""), Some("list" | "status" | "print" | "ls" | "info"))
                || (call.name == "losetup" && call.args.is_empty());
            !lists
        },
        stops: &["fdisk /dev/sda", "wipefs -a x.img", "cryptsetup luksFormat x.img"],
        spares: &["fdisk -l", "zpool list", "losetup"],
    },
    Rule {
        name: "disk-formatting",
        why: "erases disks or whole file systems",
        programs: "diskutil zfs btrfs",
        when: |call| {
            let erases = |word: &str| {
                let word = word.to_ascii_lowercase();
                ["erase", "partition", "zerodisk", "secureerase", "destroy", "delete"]
                    .iter()
                    .any(|verb| word.starts_with(verb))
            };
            call.args.iter().any(|arg| erases(arg.as_str()))
        },
        stops: &["diskutil eraseDisk JHFS+ x disk2", "zfs destroy tank/x", "btrfs device delete x y"],
        spares: &["diskutil list", "zfs list", "btrfs filesystem usage ."],
    },
    Rule {
        name: "block-device",
        why: "moves a file over a device",
        programs: "mv ln",
        when: |call| call.operands("t S").last().is_some_and(|last| last.starts_with("/dev/")),
        stops: &["mv x /dev/null"],
        spares: &["mv x dev/null"],
    },
    Rule {
        name: "mount",
        why: "changes what is mounted",
        programs: "mount umount swapon swapoff pivot_root fusermount fusermount3",
        when: |call| !call.operands("t o").is_empty() || call.has("", "a all bind"),
        stops: &["mount /dev/sdb1 mnt", "umount mnt", "swapoff -a"],
        spares: &["mount", "mount -l"],
    },
];
