//! Wiping the argument and environment strings of a process.
//!
//! `/proc/PID/cmdline` is readable for every process that sees PID: a command in a pid namespace
//! sees its supervisor, whose memory is a copy of picoclaw's, and arguments of `picoclaw run --env`
//! may be secrets.

use crate::linux::proc_stat::ProcStat;
use std::sync::OnceLock;

/// The memory that holds the argument strings and, behind them, the environment strings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgvRegion {
    start: usize,
    end: usize,
}

impl ArgvRegion {
    /// Finds the region of this process in `/proc/self/stat`; `None` where that is not possible.
    pub(crate) fn find() -> Option<Self> {
        static REGION: OnceLock<Option<ArgvRegion>> = OnceLock::new();
        *REGION.get_or_init(|| Self::of(&ProcStat::of_this_process()?))
    }

    fn of(stat: &ProcStat) -> Option<Self> {
        // Fields 48 to 51 are arg_start, arg_end, env_start and env_end.
        let (start, end): (usize, usize) = (stat.number(48)?, stat.number(51)?);
        let is_plausible = start != 0 && start < end && end - start < (8 << 20);
        is_plausible.then_some(Self { start, end })
    }

    /// Overwrites the region with zeros, in a process that does not read it any more.
    pub(crate) fn wipe(self) {
        // SAFETY: the kernel put the strings there when the program started, on the main thread's
        // stack, which is writable memory of this process. Every string in it stays one, an empty
        // one.
        unsafe { std::ptr::write_bytes(self.start as *mut u8, 0, self.end - self.start) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_holds_the_arguments_of_this_process() {
        let region = ArgvRegion::find().unwrap();
        let arguments = std::fs::read("/proc/self/cmdline").unwrap();
        // SAFETY: the region is readable memory of this process, and longer than its beginning.
        let found = unsafe { std::slice::from_raw_parts(region.start as *const u8, arguments.len()) };
        assert!(found == arguments && region.end - region.start >= arguments.len());
    }
}
