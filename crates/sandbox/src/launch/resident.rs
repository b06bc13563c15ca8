//! How much memory this process has in use.
//!
//! Invariant: a number that the kernel said, or none.

use std::fs;

/// The bytes of memory that this process has in use.
#[expect(clippy::disallowed_methods, reason = "the kernel tells of this process there, and of nobody else")]
pub fn resident_bytes() -> Option<u64> {
    let told = fs::read_to_string("/proc/self/status").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
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
