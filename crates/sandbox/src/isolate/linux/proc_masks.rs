//! Entries of `/proc` that describe the kernel and the machine and not the cage. They are covered.
//!
//! The list is that of the container runtimes (`acpi` to `timer_stats`), and what root can read of
//! the kernel's memory and of its keys. What programs look at (`cpuinfo`, `meminfo`, `stat`, `sys`,
//! …) stays.

use crate::isolate::error::IsolateError;
use crate::isolate::host_files::{HostEntryKind, HostFiles, LiveHost};
use crate::isolate::linux::rootfs::beneath_root;
use picoclaw_sys::linux::mount::{NO_DEVICES, NO_EXEC, NO_SUID, PathOwner, READ_ONLY};
use picoclaw_sys::linux::{BindMount, Step};
use std::path::Path;

const MASKED: [&str; 25] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/allocinfo",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/kallsyms",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/mtrr",
    "/proc/pagetypeinfo",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/vmallocinfo",
    "/proc/vmcore",
];

/// The entries that this kernel has.
pub(super) fn masked_entries() -> Vec<(&'static Path, HostEntryKind)> {
    let find = |path| Some((path, LiveHost.find(path)?.kind));
    MASKED.into_iter().map(Path::new).filter_map(find).collect()
}

/// The steps that cover them in the `/proc` of the cage, with an empty file or directory.
pub(super) fn mask_steps() -> Result<Vec<Step>, IsolateError> {
    let (empty, owner) = (c"masked", PathOwner::Cage);
    let attributes = NO_SUID | NO_EXEC | READ_ONLY;
    let mut steps = vec![Step::Directory(empty.into(), 0o555, owner)];
    for (path, kind) in masked_entries() {
        let target = beneath_root(path)?;
        steps.push(match kind {
            HostEntryKind::Directory => Step::BindTmpfs(empty.into(), target, attributes | NO_DEVICES, owner),
            HostEntryKind::File => {
                let source = c"/dev/null".into();
                Step::Bind(BindMount { source, target, owner, attributes, expected: None })
            }
        });
    }
    Ok(steps)
}
