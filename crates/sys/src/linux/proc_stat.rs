//! `/proc/PID/stat`, whose fields are numbered as in proc_pid_stat(5).
//!
//! Invariant: nothing here allocates. A supervisor reads it.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::CStr;
use std::io::Write as _;
use std::str::FromStr;

/// More than 51 numbers of 64 bits and a name of 64 bytes.
const MAX_BYTES: usize = 1280;

/// What the kernel tells of one process.
#[derive(Debug)]
pub struct ProcStat {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl ProcStat {
    /// Of the process that has this PID now.
    pub fn read(pid: i32) -> Option<Self> {
        let mut path = [0; 32];
        write!(path.as_mut_slice(), "/proc/{pid}/stat\0").ok()?;
        Self::open(CStr::from_bytes_until_nul(&path).ok()?)
    }

    /// Of this process, also where `/proc` shows another pid namespace.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::open(c"/proc/self/stat")
    }

    fn open(path: &CStr) -> Option<Self> {
        let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut bytes = [0; MAX_BYTES];
        let length = rustix::io::read(&file, &mut bytes).ok()?;
        Some(Self { bytes, length })
    }

    /// A field from 3, the state, on.
    pub(crate) fn field(&self, number: usize) -> Option<&[u8]> {
        let text = self.bytes.get(..self.length)?;
        // Field 2 is the program's name in parentheses and may hold any character.
        let name_end = text.iter().rposition(|byte| *byte == b')')?;
        let fields = text.get(name_end.checked_add(2)?..)?;
        fields.split(|byte| byte.is_ascii_whitespace()).nth(number.checked_sub(3)?)
    }

    /// The number in a field from 4 on.
    pub fn number<T: FromStr>(&self, number: usize) -> Option<T> {
        std::str::from_utf8(self.field(number)?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_any_name() {
        for name in ["sh", "a) S 9 9", "", "(", ") "] {
            let text = format!("17 ({name}) Z 4 -5 6\n");
            let mut stat = ProcStat { bytes: [0; MAX_BYTES], length: text.len() };
            stat.bytes[..text.len()].copy_from_slice(text.as_bytes());
            assert_eq!(stat.field(3), Some(&b"Z"[..]), "{name}");
            assert_eq!(
                (stat.number(4), stat.number(5), stat.number(6)),
                (Some(4), Some(-5), Some(6)),
                "{name}"
            );
            assert_eq!(stat.number::<i32>(8), None, "{name}");
            assert_eq!(stat.number::<u32>(5), None, "{name}");
        }
    }
}
