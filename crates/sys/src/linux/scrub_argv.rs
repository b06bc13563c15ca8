//! `/proc/self/stat`, and wiping the argument and environment strings of a process.
//!
//! `/proc/PID/cmdline` is readable for every process that sees PID: a command in a pid namespace sees its supervisor, whose
//! memory is a copy of picoclaw's, and arguments of `picoclaw run --env` may be secrets.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::sync::OnceLock;

/// The fields of `/proc/self/stat` from the third on (behind the program's name), read once; none where it cannot be read.
/// Only fields that never change may be taken from it.
pub fn proc_self_stat() -> impl Iterator<Item = &'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| read_stat().unwrap_or_default());
    // The name is in parentheses and may contain any character, parentheses included.
    text.rsplit(')').next().unwrap_or_default().split_whitespace()
}

fn read_stat() -> Option<String> {
    let file = openat(CWD, c"/proc/self/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = vec![0; 2048];
    let length = rustix::io::read(&file, text.as_mut_slice()).ok()?;
    text.truncate(length);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The memory that holds the argument strings and, behind them, the environment strings.
#[derive(Clone, Copy)]
pub(crate) struct ArgvRegion {
    start: usize,
    end: usize,
}

impl ArgvRegion {
    /// Finds the region in `/proc/self/stat`; `None` where that is not possible.
    pub(crate) fn find() -> Option<Self> {
        // Fields 48 to 51 are arg_start, arg_end, env_start and env_end; the iterator begins with field 3.
        let mut addresses = proc_self_stat().skip(45).map(str::parse::<usize>);
        let (start, end) = (addresses.next()?.ok()?, addresses.nth(2)?.ok()?);
        let is_plausible = start != 0 && start < end && end - start < (8 << 20);
        is_plausible.then_some(Self { start, end })
    }

    /// Overwrites the region with zeros, in a process that does not read it any more.
    pub(crate) fn wipe(self) {
        // SAFETY: the kernel put the strings there when the program started, on the main thread's stack, which is writable
        // memory of this process. Every string in it stays one, an empty one.
        unsafe { std::ptr::write_bytes(self.start as *mut u8, 0, self.end - self.start) };
    }
}
