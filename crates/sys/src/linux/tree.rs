//! Every process below this one, found through `/proc` and signalled by identity.
//!
//! A child may leave its group, its session and its parent; it cannot leave the tree of a process that adopts
//! orphans. A number read from `/proc` may belong to somebody else a moment later, so each process is pinned by a
//! pidfd and looked at again before it is signalled.
//!
//! Invariant: nothing here allocates, and only a process seen below this one is ever signalled.

use crate::linux::raw::{call, close};

/// The most processes that are looked at in one pass; the rest are found in the next one.
const MOST: usize = 32_768;

#[derive(Clone, Copy)]
struct Seen {
    pid: i32,
    parent: i32,
    below: bool,
}

/// Ends every child of this process whose number is not in `known`, with all that is below it; how many there were.
///
/// For a process that adopts orphans and starts children nowhere else: what hangs there has lost its keeper.
pub fn end_strays(known: &[i32]) -> usize {
    let Some(mut tree) = Tree::new() else { return 0 };
    let mut ended = 0;
    // Killing a parent sends its children here, so one pass uncovers the next; a bound keeps a fork bomb from
    // holding the caller.
    for _ in 0..64 {
        let strays = tree.kill_strays(known);
        if strays == 0 {
            break;
        }
        ended += strays;
    }
    tree.unmap();
    ended
}

/// A table for one pass, in memory of its own.
pub(crate) struct Tree {
    seen: *mut Seen,
    count: usize,
}

impl Tree {
    /// Maps the table; `None` when the kernel has no memory for it.
    pub(crate) fn new() -> Option<Self> {
        let length = MOST * size_of::<Seen>();
        let (protection, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the kernel's choice overlaps nothing of ours.
        let address = unsafe { call!(libc::SYS_mmap, 0, length, protection, kind, -1_i32, 0) }.ok()?;
        Some(Self { seen: address as *mut Seen, count: 0 })
    }

    /// Sends `signal` to every process below this one but `spared`; `false` when `/proc` could not be read.
    pub(crate) fn signal(&mut self, signal: i32, spared: i32) -> bool {
        if !self.look() {
            return false;
        }
        self.mark();
        for seen in self.rows() {
            if seen.below && seen.pid != spared {
                signal_one(*seen, signal);
            }
        }
        true
    }

    fn kill_strays(&mut self, known: &[i32]) -> usize {
        if !self.look() {
            return 0;
        }
        let own = own_pid();
        for row in self.rows() {
            row.below = row.parent == own && !known.contains(&row.pid);
        }
        let mut strays = 0;
        for row in self.rows() {
            if row.below {
                signal_one(*row, libc::SIGKILL);
                // SAFETY: integers and null pointers; only this one child is waited for.
                let _ = unsafe { call!(libc::SYS_wait4, row.pid, 0, 0, 0) };
                strays += 1;
            }
        }
        strays
    }

    fn unmap(self) {
        // SAFETY: exactly the mapping made in `new`, and no reference into it outlives `self`.
        let _ = unsafe { call!(libc::SYS_munmap, self.seen, MOST * size_of::<Seen>()) };
    }

    /// Private memory of every process below this one, in pages; `None` when `/proc` could not be read.
    pub(crate) fn private_pages(&mut self) -> Option<u64> {
        if !self.look() {
            return None;
        }
        self.mark();
        let below = self.rows().iter().filter(|seen| seen.below);
        Some(below.map(|seen| private_pages(seen.pid)).fold(0, u64::saturating_add))
    }

    fn rows(&mut self) -> &mut [Seen] {
        // SAFETY: the mapping holds `MOST` rows, zero-filled by the kernel (all zeroes is a valid row), `count`
        // never exceeds `MOST`, and `self` is borrowed for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.seen, self.count) }
    }

    fn look(&mut self) -> bool {
        self.count = 0;
        // SAFETY: the path is a C string of static life.
        let opened = unsafe {
            call!(
                libc::SYS_openat,
                libc::AT_FDCWD,
                c"/proc".as_ptr(),
                libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC
            )
        };
        let Ok(proc) = opened else { return false };
        let mut entries = [0u8; 8192];
        loop {
            // SAFETY: the buffer is alive and its length is passed with it.
            let read = unsafe { call!(libc::SYS_getdents64, proc, entries.as_mut_ptr(), entries.len()) };
            let Ok(length @ 1..) = read else { break };
            self.take(entries.get(..usize::try_from(length).unwrap_or(0)).unwrap_or(&[]));
        }
        close(proc as i32);
        true
    }

    /// Takes in one buffer of `linux_dirent64`: inode 8, offset 8, length 2, type 1, then the name.
    fn take(&mut self, mut entries: &[u8]) {
        while let Some(length) = entries.get(16..18) {
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let Some(entry) = entries.get(..length) else { return };
            if let Some(pid) = entry.get(19..).and_then(number)
                && let Some(parent) = parent_of(pid)
                && self.count < MOST
            {
                self.count += 1;
                if let Some(last) = self.rows().last_mut() {
                    *last = Seen { pid, parent, below: false };
                }
            }
            entries = entries.get(length.max(1)..).unwrap_or(&[]);
        }
    }

    /// Marks children of this process, then their children, until nothing is new.
    fn mark(&mut self) {
        let own = own_pid();
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..self.count {
                let Some(row) = self.rows().get(at).copied() else { return };
                if row.below {
                    continue;
                }
                let found = row.parent == own || self.is_below(row.parent);
                if found && let Some(row) = self.rows().get_mut(at) {
                    row.below = true;
                    changed = true;
                }
            }
        }
    }

    /// The kernel lists processes by rising number, so a search by halves finds each.
    fn is_below(&mut self, pid: i32) -> bool {
        let rows = self.rows();
        let found = rows.binary_search_by_key(&pid, |row| row.pid).ok();
        found.and_then(|at| rows.get(at)).is_some_and(|row| row.below)
    }
}

fn own_pid() -> i32 {
    // SAFETY: getpid takes nothing and cannot fail.
    unsafe { call!(libc::SYS_getpid) }.unwrap_or(0) as i32
}

fn signal_one(seen: Seen, signal: i32) {
    // SAFETY: integers only; the descriptor that comes back is ours.
    let Ok(pidfd) = (unsafe { call!(libc::SYS_pidfd_open, seen.pid, 0) }) else { return };
    // The pidfd holds whoever has the number now: only the process that was seen still has that parent. One whose
    // parent has just died hangs below us and is found in the next pass.
    if parent_of(seen.pid) == Some(seen.parent) {
        // SAFETY: integers, and a null pointer for "as kill(2) would".
        let _ = unsafe { call!(libc::SYS_pidfd_send_signal, pidfd, signal, 0, 0) };
    }
    close(pidfd as i32);
}

fn parent_of(pid: i32) -> Option<i32> {
    let mut buffer = [0u8; 512];
    let stat = read_of(pid, b"/stat\0", &mut buffer)?;
    // The name stands in parentheses and may itself hold any character: the last one closes it.
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    number(stat.get(close.checked_add(4)?..)?)
}

fn private_pages(pid: i32) -> u64 {
    let mut buffer = [0u8; 256];
    let Some(statm) = read_of(pid, b"/statm\0", &mut buffer) else { return 0 };
    let mut fields = statm.split(|byte| *byte == b' ').skip(1).map(|field| number(field).unwrap_or(0));
    let (resident, shared) = (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
    u64::try_from(resident.saturating_sub(shared)).unwrap_or(0)
}

/// Reads `/proc/<pid><file>` into `buffer`; `file` ends in a NUL.
fn read_of<'b>(pid: i32, file: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut path = [0u8; 40];
    let length = write_path(&mut path, pid, file)?;
    debug_assert!(length < path.len());
    // SAFETY: `path` is NUL-terminated by `write_path` and lives across the call.
    let fd =
        unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) }
            .ok()?;
    // SAFETY: the buffer is alive and its length is passed with it.
    let read = unsafe { call!(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len()) };
    close(fd as i32);
    buffer.get(..usize::try_from(read.ok()?).ok()?)
}

fn write_path(path: &mut [u8], pid: i32, file: &[u8]) -> Option<usize> {
    let mut digits = [0u8; 10];
    let (mut rest, mut first) = (u32::try_from(pid).ok()?, digits.len());
    loop {
        first = first.checked_sub(1)?;
        *digits.get_mut(first)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let mut at = 0;
    for byte in b"/proc/".iter().chain(digits.get(first..)?).chain(file) {
        *path.get_mut(at)? = *byte;
        at += 1;
    }
    Some(at)
}

/// The number at the start of `text`; `None` when it does not begin with a digit.
fn number(text: &[u8]) -> Option<i32> {
    let mut value: Option<i32> = None;
    for byte in text {
        if !byte.is_ascii_digit() {
            break;
        }
        value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(i32::from(byte - b'0'))?);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_parent() {
        // SAFETY: getppid takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() };
        assert_eq!(parent_of(own_pid()), Some(parent));
        assert_eq!(parent_of(i32::MAX), None, "nobody has the highest number");
    }

    #[test]
    fn numbers_end_where_digits_end() {
        for (text, want) in [
            (&b"17 0"[..], Some(17)),
            (b"", None),
            (b"self", None),
            (b"99999999999", None),
            (b"8\0", Some(8)),
        ] {
            assert_eq!(number(text), want);
        }
    }

    #[test]
    fn private_memory_of_a_process_is_counted() {
        let block = vec![1u8; 8 << 20];
        assert!(
            private_pages(own_pid()) > 1024,
            "eight touched MiB are more than a thousand pages: {}",
            block.len()
        );
    }
}
