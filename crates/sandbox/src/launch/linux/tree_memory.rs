//! The memory of a process tree where no cgroup counts it, read from `/proc`.
//!
//! Not seen: memory that no process of the tree has mapped or open, such as pages of a shared
//! mapping that only a dead process touched, descriptors in flight or in the table of a single
//! thread, descriptors of a program whose file is executable but not readable (such a process is
//! not dumpable), socket and pipe buffers, and page tables.

use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, fstat, fstatfs, openat, statat};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The type of a tmpfs in `statfs(2)`.
pub(super) const TMPFS_MAGIC: i64 = 0x0102_1994;

/// What is needed to read the memory of a tree.
#[derive(Debug)]
pub(super) struct TreeMemory {
    /// The device of every memfd, System V segment and shared anonymous mapping.
    shared_device: u64,
    /// Directories inside the cage that may each be on a tmpfs.
    private_dirs: Vec<PathBuf>,
}

/// Which memory is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// What is quick to count.
    Anonymous,
    /// Also what lies behind descriptors, of which a tree can have millions.
    All,
}

/// One process, by `/proc/<pid>/status`, in bytes.
struct Resident {
    /// A thread of it that has not ended.
    pid: i32,
    /// Anonymous memory, in memory or swapped out. What it shares with others by fork is counted
    /// for each.
    anonymous: u64,
    /// Shared memory that it has mapped.
    shared: u64,
}

impl TreeMemory {
    pub(super) fn new(private_dirs: Vec<PathBuf>) -> rustix::io::Result<Self> {
        let memfd = rustix::fs::memfd_create("device", MemfdFlags::CLOEXEC)?;
        Ok(Self { shared_device: fstat(memfd)?.st_dev, private_dirs })
    }

    /// Whether these processes have more than `limit` bytes. Exact numbers are slow to read, so
    /// they are read only where the sum for each process, which counts shared pages more than once,
    /// is above the limit.
    pub(super) fn exceeds(&self, pids: &[i32], limit: u64, kinds: Kinds) -> io::Result<bool> {
        let found: Vec<Option<Resident>> =
            pids.iter().map(|pid| resident(*pid)).collect::<io::Result<_>>()?;
        let processes: Vec<Resident> = found.into_iter().flatten().collect();
        let sum = |bytes: fn(&Resident) -> u64| processes.iter().map(bytes).sum::<u64>();
        if sum(|process| process.anonymous) > limit && sum(proportional) > limit {
            return Ok(true);
        }
        if kinds == Kinds::Anonymous {
            return Ok(false);
        }
        let open = self.open_shared_memory(&processes);
        let files = self.tmpfs_bytes(&processes);
        let at_most = sum(|process| process.anonymous + process.shared);
        if at_most + open.values().sum::<u64>() + files <= limit {
            return Ok(false);
        }
        Ok(sum(proportional) + self.shared_bytes(&processes, open) + files > limit)
    }

    /// The memfds and other shared memory that these processes have open, by inode.
    fn open_shared_memory(&self, processes: &[Resident]) -> HashMap<u64, u64> {
        let mut sizes = HashMap::new();
        for Resident { pid, .. } in processes {
            for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
                if let Ok(stat) = statat(CWD, entry.path(), AtFlags::empty())
                    && stat.st_dev == self.shared_device
                {
                    sizes.insert(stat.st_ino, u64::try_from(stat.st_blocks).unwrap_or(0) * 512);
                }
            }
        }
        sizes
    }

    /// All shared memory: what is open by its size, and what is only mapped by the pages that are.
    fn shared_bytes(&self, processes: &[Resident], open: HashMap<u64, u64>) -> u64 {
        let mut mapped: HashMap<u64, u64> = HashMap::new();
        for process in processes.iter().filter(|process| process.shared > 0) {
            let smaps = match read_file(process.pid, "smaps") {
                Ok(text) => text,
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                    // Not dumpable: counted as if it shared with no other.
                    mapped.insert(u64::MAX - u64::from(process.pid.unsigned_abs()), process.shared);
                    continue;
                }
                // It has ended since it was counted.
                Err(_) => continue,
            };
            let mut inode = None;
            for line in smaps.lines() {
                let mut fields = line.split_ascii_whitespace();
                match fields.next() {
                    Some("Pss:") => {
                        if let (Some(inode), Some(bytes)) = (inode, kibibytes(fields.next())) {
                            *mapped.entry(inode).or_default() += bytes;
                        }
                    }
                    // `7f00-7f01 rw-s 00000000 00:01 1234 /memfd:name`
                    Some(range) if range.contains('-') => inode = self.shared_inode(fields.skip(2)),
                    _ => {}
                }
            }
        }
        for (inode, bytes) in open {
            let known = mapped.entry(inode).or_default();
            *known = bytes.max(*known);
        }
        mapped.values().sum()
    }

    /// The inode of a mapping of shared memory, from the device and inode fields.
    fn shared_inode<'l>(&self, mut fields: impl Iterator<Item = &'l str>) -> Option<u64> {
        let (major, minor) = fields.next()?.split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = rustix::fs::makedev(number(major)?, number(minor)?);
        let inode = fields.next()?.parse().ok()?;
        (device == self.shared_device).then_some(inode)
    }

    /// What lies in the tmpfs of the cage, seen through a process that is in it.
    fn tmpfs_bytes(&self, processes: &[Resident]) -> u64 {
        if self.private_dirs.is_empty() {
            return 0;
        }
        let mut roots = processes.iter().map(|process| PathBuf::from(format!("/proc/{}/root", process.pid)));
        let Some(root) = roots.find(|root| enters_cage(root)) else { return 0 };
        let mut seen = HashSet::new();
        let dirs = self.private_dirs.iter().map(|dir| root.join(dir.strip_prefix("/").unwrap_or(dir)));
        dirs.filter_map(|dir| tmpfs_usage(&dir))
            .filter(|(device, _)| seen.insert(*device))
            .map(|(_, used)| used)
            .sum()
    }
}

/// Whether the root of a process is that of a cage.
pub(super) fn enters_cage(root: &Path) -> bool {
    let device = |path: &Path| statat(CWD, path, AtFlags::empty()).ok().map(|stat| stat.st_dev);
    let host = device(Path::new("/"));
    device(&root.join(".")).is_some_and(|own| Some(own) != host)
}

/// The device of a tmpfs and the bytes in it; `None` for any other file system.
fn tmpfs_usage(dir: &Path) -> Option<(u64, u64)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(CWD, dir, flags, Mode::empty()).ok()?;
    let system = fstatfs(&dir).ok()?;
    let used = system.f_blocks.saturating_sub(system.f_bfree) * u64::try_from(system.f_bsize).ok()?;
    (system.f_type == TMPFS_MAGIC).then_some((fstat(&dir).ok()?.st_dev, used))
}

/// The memory of a process; `None` if it has ended. Its first thread may have ended before the
/// others; then it says nothing of them.
fn resident(pid: i32) -> io::Result<Option<Resident>> {
    if let Some(found) = resident_by_thread(pid)? {
        return Ok(Some(found));
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    threads.find_map(|thread| resident_by_thread(thread).transpose()).transpose()
}

fn resident_by_thread(pid: i32) -> io::Result<Option<Resident>> {
    let status = match read_file(pid, "status") {
        Ok(text) => text,
        Err(why) if has_ended(&why) => return Ok(None),
        Err(why) => return Err(why),
    };
    let field = |name| {
        status.lines().find_map(|line| kibibytes(line.strip_prefix(name)?.split_ascii_whitespace().next()))
    };
    let anonymous = field("RssAnon:").map(|bytes| bytes + field("VmSwap:").unwrap_or(0));
    let found = anonymous.zip(field("RssShmem:"));
    Ok(found.map(|(anonymous, shared)| Resident { pid, anonymous, shared }))
}

/// Whether a file of `/proc` could not be read because its process has ended.
fn has_ended(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::NotFound || why.raw_os_error() == Some(libc::ESRCH)
}

/// The anonymous memory of a process, in memory or swapped out, where a page of several processes
/// counts in part. The parts add up to somewhat more than the page while processes that share it
/// end. Nothing for a process that has ended since it was counted; all of it for one that may not
/// be looked into.
fn proportional(process: &Resident) -> u64 {
    let rollup = match read_file(process.pid, "smaps_rollup") {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => return process.anonymous,
        Err(_) => return 0,
    };
    let field = |name| {
        rollup.lines().find_map(|line| kibibytes(line.strip_prefix(name)?.split_ascii_whitespace().next()))
    };
    field("Pss_Anon:").unwrap_or(0) + field("SwapPss:").unwrap_or(0)
}

fn kibibytes(field: Option<&str>) -> Option<u64> {
    field?.parse::<u64>().ok()?.checked_mul(1024)
}

/// A file of `/proc`. Names of processes and paths in it are the child's to choose, and need not be
/// UTF-8.
#[expect(clippy::disallowed_methods, reason = "procfs describes a child; no tool names the path")]
fn read_file(pid: i32, file: &str) -> io::Result<String> {
    fs::read(format!("/proc/{pid}/{file}")).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
