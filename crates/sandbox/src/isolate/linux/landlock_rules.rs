//! The Landlock rules of a cage. They lie beneath the mounts and hold even if a mount were wrong.
//!
//! Invariant: a write right is granted only where the plan shows something writable.

use crate::isolate::host_files::HostEntryKind;
use crate::isolate::linux::rootfs::c_string;
use crate::isolate::mount_rules::MountRule;
use crate::isolate::plan::Plan;
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::landlock::access;
use picoclaw_sys::linux::mount::open_path_without_links;
use rustix::fs::FileType;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The rights that a cage's ruleset handles.
pub(super) const HANDLED: u64 = access::READS | access::WRITES;

/// The rights that are granted, by path.
pub(super) fn granted_rights(plan: &Plan) -> Vec<(&Path, u64)> {
    let mut rights =
        vec![(Path::new("/"), access::READS), (Path::new("/dev"), access::WRITE_FILE | access::TRUNCATE)];
    for rule in &plan.mounts {
        match rule {
            MountRule::Bind { target, mode: ExposeMode::ReadWrite, kind, .. } => {
                let of_kind = if *kind == HostEntryKind::Directory { u64::MAX } else { access::OF_A_FILE };
                rights.push((target, HANDLED & of_kind));
            }
            MountRule::Tmpfs { target, .. } | MountRule::Overlay { target, .. } => {
                rights.push((target, HANDLED))
            }
            MountRule::Bind { .. }
            | MountRule::Symlink { .. }
            | MountRule::Hide { .. }
            | MountRule::MaskSocket { .. } => {}
        }
    }
    rights
}

/// Opens a path for a rule, with the rights that apply to its kind; `None` when it does not exist.
/// Links were resolved when the rule was made: one that is found now was put there since.
pub(super) fn open_for_rule(path: &Path) -> Option<(OwnedFd, u64)> {
    let handle = open_path_without_links(&c_string(path).ok()?).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Some((handle, if is_directory { u64::MAX } else { access::OF_A_FILE }))
}
