//! This process: its hardening, its descriptor limit and its memory.

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_child_subreaper, set_dumpable_behavior,
    setrlimit,
};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// Makes this process undumpable, without core dumps, and a subreaper, and applies RELRO.
///
/// For a program that starts every child through this module: when a supervisor is killed, any
/// other child is taken for an orphan of its tree and killed.
pub fn harden_self() -> io::Result<()> {
    picoclaw_sys::linux::protect_relro()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    refuse_core_dumps()?;
    set_child_subreaper(Some(rustix::process::getpid()))?;
    // Beyond RLIMIT_FSIZE, which a child of the same user may set for this process, writing fails
    // with EFBIG as well.
    picoclaw_sys::linux::ignore_signal(Signal::XFSZ);
    IS_SUBREAPER.store(true, Ordering::Release);
    Ok(())
}

/// At a limit of 1 the kernel neither writes a core file nor starts the program that `core_pattern`
/// may name; at 0 it starts that program. A hard limit of 0 can only be raised by root.
fn refuse_core_dumps() -> rustix::io::Result<()> {
    let at = |value| setrlimit(Resource::Core, Rlimit { current: Some(value), maximum: Some(value) });
    at(1).or_else(|_| at(0))
}

/// Whether orphans become children of this process.
pub(super) fn is_subreaper() -> bool {
    IS_SUBREAPER.load(Ordering::Acquire)
}

/// Raises the soft limit on descriptors to `wanted`, as far as the hard limit allows, and returns
/// what it is now. Children get the original limit.
pub fn raise_fd_limit(wanted: u64) -> u64 {
    if let Err(why) = picoclaw_sys::linux::raise_fd_limit(wanted) {
        tracing::warn!(target: "launch", error = %why, "The limit on descriptors stays as it is");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(wanted)
}

/// The resident memory of this process in bytes; `None` where it cannot be read.
#[expect(clippy::disallowed_methods, reason = "procfs describes this process; no tool names the path")]
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_program_has_some_memory() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
