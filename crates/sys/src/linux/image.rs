//! The program's own code in memory.
//!
//! Invariant: only what can be read again from the file it came from is let go of.

use std::ffi::c_void;

unsafe extern "C" {
    /// Where the linker put the first byte of the program.
    static __executable_start: u8;
    /// Where it put the first byte that is written to, behind all code and constants.
    static __init_array_start: u8;
}

/// Lets go of the code and constants that were needed until now. They are read again, from memory where the kernel kept
/// them, when they are needed again.
pub fn let_go_of_code() {
    const PAGE: usize = 4096;
    let start = (&raw const __executable_start).addr();
    let end = (&raw const __init_array_start).addr() & !(PAGE - 1);
    if start.is_multiple_of(PAGE) && start < end {
        // SAFETY: the range holds file pages that nobody writes to; a page that is dropped comes back as it was. A gap
        // between its parts, or a kernel that refuses, leaves what is mapped in place.
        let _ = unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_DONTNEED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_file_pages() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse().unwrap()
    }

    #[test]
    fn code_that_is_let_go_of_takes_no_memory_and_still_runs() {
        let before = resident_file_pages();
        let_go_of_code();
        let after = resident_file_pages();
        assert!(after < before, "{before} KiB before, {after} KiB after");
        assert_eq!(format!("{:?}", [1.5, 2.5]), "[1.5, 2.5]", "what is needed again is there again");
    }
}
