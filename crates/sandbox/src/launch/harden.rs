//! What picoclaw does to itself before it starts anybody.
//!
//! Invariant: after this no child can read our memory or environment, and no orphan escapes to the system's first process.

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_child_subreaper, set_dumpable_behavior, setrlimit,
};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process undumpable and core-less, and the one that adopts its descendants' orphans.
///
/// For a program whose every child starts through this room: a child of any other origin would be taken for a stray
/// when a keeper is killed.
pub fn harden_self() -> io::Result<()> {
    picoclaw_sys::linux::protect_relro()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_child_subreaper(Some(rustix::process::getpid()))?;
    // A file that may grow no longer is an error to be told, also when a child of the same user has set that limit.
    picoclaw_sys::linux::ignore_signal(rustix::process::Signal::XFSZ);
    ADOPTS.store(true, Ordering::Release);
    Ok(())
}

/// Whether every orphan comes to this process.
pub(super) fn adopts_orphans() -> bool {
    ADOPTS.load(Ordering::Acquire)
}
