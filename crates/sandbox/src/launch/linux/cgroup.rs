//! A control group for one tree: the kernel counts its memory of every kind, and its processes.
//!
//! cgroup v2 where the directory of this process or the one above it is delegated, else v1 where
//! both of its hierarchies are writable. A group is locked by its launcher: one that can be locked
//! was left by a launcher that was killed.

use crate::file_lock::FileLock;
use crate::os_file::MountTable;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The names of our groups begin with this.
const PREFIX: &str = "picoclaw-tree-";
/// How long a launcher waits for another one that is looking for groups that were left.
const SWEEP_TIMEOUT: Duration = Duration::from_millis(50);

/// What a tree may use; zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TreeLimits {
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
}

/// A control group, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Cgroup {
    /// Where memory is counted.
    memory: Group,
    /// Where processes are counted; in v2 the same group does both.
    pids: Option<Group>,
}

/// One directory of a hierarchy.
#[derive(Debug)]
struct Group {
    dir: PathBuf,
    /// `cgroup.procs`: a process that writes `0` to it moves itself.
    procs: OwnedFd,
    _lock: FileLock,
}

impl Cgroup {
    /// Makes a group beneath the one of this process; `None` where it may not, or a controller is
    /// missing.
    pub(super) fn new(limits: TreeLimits) -> Option<Self> {
        Self::among(&read(Path::new("/proc/self/cgroup"))?, &MountTable::read(), limits)
    }

    fn among(own: &str, mounts: &MountTable, limits: TreeLimits) -> Option<Self> {
        v2_parents(own, mounts)
            .iter()
            .find_map(|parent| Self::v2(parent, limits))
            .or_else(|| Self::v1(own, mounts, limits))
    }

    fn v2(parent: &Path, limits: TreeLimits) -> Option<Self> {
        let control = parent.join("cgroup.subtree_control");
        let enabled = read(&control)?;
        if !["memory", "pids"].iter().all(|name| enabled.split_whitespace().any(|other| other == *name)) {
            // The kernel refuses this where the parent has processes of its own.
            write(&control, "+memory +pids")?;
        }
        let memory = Group::new(parent)?;
        if limits.memory_bytes > 0 {
            memory.set("memory.max", limits.memory_bytes)?;
            memory.set("memory.oom.group", 1)?;
            // Missing where the kernel does not count swap.
            memory.set("memory.swap.max", 0);
        }
        if limits.processes > 0 {
            memory.set("pids.max", limits.processes)?;
        }
        Some(Self { memory, pids: None })
    }

    fn v1(own: &str, mounts: &MountTable, limits: TreeLimits) -> Option<Self> {
        let memory = Group::new(&v1_dir(own, mounts, "memory")?)?;
        let pids = Group::new(&v1_dir(own, mounts, "pids")?)?;
        if limits.memory_bytes > 0 {
            memory.set("memory.limit_in_bytes", limits.memory_bytes)?;
            // Memory and swap together; missing where the kernel does not count swap.
            memory.set("memory.memsw.limit_in_bytes", limits.memory_bytes);
        }
        if limits.processes > 0 {
            pids.set("pids.max", limits.processes)?;
        }
        Some(Self { memory, pids: Some(pids) })
    }

    /// Descriptors to which the command writes `0` before it executes its program.
    pub(super) fn procs(&self) -> impl Iterator<Item = RawFd> {
        [Some(&self.memory), self.pids.as_ref()].into_iter().flatten().map(|group| group.procs.as_raw_fd())
    }

    /// Whether the kernel has killed a process of the group for its memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.memory_events().ran_out_of_memory()
    }

    /// Where the kernel counts those kills.
    pub(super) fn memory_events(&self) -> MemoryEvents {
        let file = if self.pids.is_some() { "memory.oom_control" } else { "memory.events" };
        MemoryEvents(self.memory.dir.join(file))
    }

    /// Whether a fork was refused for the number of processes.
    pub(super) fn ran_out_of_processes(&self) -> bool {
        let group = self.pids.as_ref().unwrap_or(&self.memory);
        counter(&group.dir.join("pids.events"), "max") > 0
    }
}

/// A file in which the kernel counts the processes of a group that it has killed for its memory. It
/// may be gone.
#[derive(Debug)]
pub(super) struct MemoryEvents(PathBuf);

impl MemoryEvents {
    pub(super) fn ran_out_of_memory(&self) -> bool {
        counter(&self.0, "oom_kill") > 0
    }
}

/// The number behind `name` in a file of lines such as `oom_kill 3`.
fn counter(file: &Path, name: &str) -> u64 {
    let text = read(file).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or(0)
}

impl Group {
    /// Makes a directory beneath `parent`, after removing those that were left there.
    fn new(parent: &Path) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // One launcher at a time: between making and locking it, a directory looks like one that
        // was left.
        let turn = FileLock::exclusive_within(open(parent, OFlags::DIRECTORY)?, SWEEP_TIMEOUT).ok()??;
        sweep(parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        mkdirat(CWD, &dir, Mode::from_raw_mode(0o755)).ok()?;
        let made = Self::open(&dir);
        if made.is_none() {
            remove(&dir);
        }
        drop(turn);
        made
    }

    fn open(dir: &Path) -> Option<Self> {
        let lock = FileLock::try_exclusive(open(dir, OFlags::DIRECTORY)?).ok()??;
        let procs = open(&dir.join("cgroup.procs"), OFlags::WRONLY | OFlags::CREATE)?;
        Some(Self { dir: dir.to_owned(), procs, _lock: lock })
    }

    fn set(&self, file: &str, value: u64) -> Option<()> {
        write(&self.dir.join(file), &value.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // EBUSY while a process is left: a later launcher removes it.
        remove(&self.dir);
    }
}

/// Removes the groups of launchers that were killed, and kills what is left in them.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let dir = entry.path();
        let is_ours = entry.file_name().to_str().is_some_and(is_own_name);
        let left = is_ours.then(|| open(&dir, OFlags::DIRECTORY)).flatten();
        if let Some(Ok(Some(_lock))) = left.map(FileLock::try_exclusive) {
            kill_all(&dir);
            remove(&dir);
        }
    }
}

/// Whether a group can only be one of a launcher: a service or a container may be called
/// `picoclaw-gateway`.
fn is_own_name(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, number)| pid.parse::<u32>().is_ok() && number.parse::<u32>().is_ok())
}

fn kill_all(dir: &Path) {
    // Only v2 has this file.
    if dir.join("cgroup.kill").exists() && write(&dir.join("cgroup.kill"), "1").is_some() {
        return;
    }
    let pids = read(&dir.join("cgroup.procs")).unwrap_or_default();
    for pid in pids.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The directories of the v2 hierarchy in which a group may be made.
fn v2_parents(own: &str, mounts: &MountTable) -> Vec<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let (Some(path), Some(mount)) = (path, mounts.point_of("cgroup2", None)) else { return Vec::new() };
    let dir = mount.join(path.trim_start_matches('/'));
    let above = dir.parent().filter(|above| above.starts_with(mount)).map(Path::to_owned);
    [Some(dir), above].into_iter().flatten().collect()
}

/// The directory of this process in the hierarchy of a v1 controller.
fn v1_dir(own: &str, mounts: &MountTable, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        controllers.split(',').any(|name| name == controller).then(|| fields.next()).flatten()
    })?;
    Some(mounts.point_of("cgroup", Some(controller))?.join(path.trim_start_matches('/')))
}

fn open(path: &Path, flags: OFlags) -> Option<OwnedFd> {
    openat(CWD, path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).ok()
}

#[expect(clippy::disallowed_methods, reason = "cgroupfs and procfs; no tool names the path")]
fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[expect(clippy::disallowed_methods, reason = "cgroupfs; no tool names the path")]
fn write(path: &Path, text: &str) -> Option<()> {
    fs::write(path, text).ok()
}

fn remove(dir: &Path) {
    let _ = unlinkat(CWD, dir, AtFlags::REMOVEDIR);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const LIMITS: TreeLimits = TreeLimits { memory_bytes: 64 << 20, processes: 32 };

    /// A directory tree in place of a hierarchy: a new group has no files until they are written.
    struct Host {
        dir: TempDir,
    }

    impl Host {
        fn new(files: &[(&str, &str)]) -> Self {
            // The kernel writes a space in a mount point as `\040`.
            let host = Self { dir: tempfile::Builder::new().prefix("a host ").tempdir().unwrap() };
            for (name, text) in files {
                fs::create_dir_all(host.path(name).parent().unwrap()).unwrap();
                write(&host.path(name), text).unwrap();
            }
            host
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn group(&self, own: &str) -> Option<Cgroup> {
            let dir = self.dir.path().display().to_string().replace(' ', "\\040");
            let mounts = format!(
                "31 23 0:28 / /sys rw - tmpfs tmpfs rw\n41 31 0:38 / {dir}/two rw,relatime - cgroup2 cgroup2 rw\n35 31 0:32 / \
                 {dir}/memory rw - cgroup cgroup rw,memory\n39 31 0:36 / {dir}/pids rw - cgroup cgroup rw,pids\n"
            );
            Cgroup::among(own, &MountTable::parse(mounts.as_bytes()), LIMITS)
        }
    }

    fn text(group: &Group, file: &str) -> String {
        read(&group.dir.join(file)).unwrap_or_default()
    }

    const DELEGATED: &[(&str, &str)] = &[("two/app/cgroup.subtree_control", "cpu memory pids\n")];

    #[test]
    fn a_delegated_group_limits_memory_swap_and_processes() {
        let host = Host::new(DELEGATED);
        fs::create_dir(host.path("two/app/shell.scope")).unwrap();
        let group = host.group("0::/app/shell.scope\n").unwrap();
        assert_eq!(
            group.memory.dir.parent().unwrap(),
            host.path("two/app"),
            "beside this process, not beneath it"
        );
        for (file, want) in [
            ("memory.max", "67108864"),
            ("memory.swap.max", "0"),
            ("memory.oom.group", "1"),
            ("pids.max", "32"),
        ] {
            assert_eq!(text(&group.memory, file), want, "{file}");
        }
        assert_eq!(group.procs().count(), 1);
        assert!(!group.ran_out_of_memory() && !group.ran_out_of_processes());
        write(&group.memory.dir.join("memory.events"), "max 9\noom 1\noom_kill 2\noom_group_kill 0\n")
            .unwrap();
        write(&group.memory.dir.join("pids.events"), "max 3\n").unwrap();
        assert!(group.ran_out_of_memory() && group.ran_out_of_processes());
    }

    #[test]
    fn controllers_that_are_missing_are_asked_for() {
        let host = Host::new(&[("two/app/cgroup.subtree_control", "\n")]);
        host.group("0::/app\n").unwrap();
        assert_eq!(read(&host.path("two/app/cgroup.subtree_control")).unwrap(), "+memory +pids");
    }

    #[test]
    fn the_first_version_has_two_groups() {
        let host = Host::new(&[("memory/a/tasks", ""), ("pids/tasks", "")]);
        let group = host.group("8:pids:/\n4:memory,other:/a\n0::/\n").unwrap();
        assert_eq!(text(&group.memory, "memory.limit_in_bytes"), "67108864");
        assert_eq!(text(&group.memory, "memory.memsw.limit_in_bytes"), "67108864");
        assert_eq!(text(group.pids.as_ref().unwrap(), "pids.max"), "32");
        assert_eq!(group.procs().count(), 2);
        let control = group.memory.dir.join("memory.oom_control");
        write(&control, "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n").unwrap();
        assert!(!group.ran_out_of_memory(), "other counters");
        write(&control, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n").unwrap();
        assert!(group.ran_out_of_memory());
    }

    #[test]
    fn where_nothing_is_there_no_group_is_made() {
        let host = Host::new(&[("memory/a/tasks", "")]);
        assert!(host.group("8:pids:/\n4:memory:/a\n0::/\n").is_none());
        assert!(host.group("").is_none());
    }

    #[test]
    fn what_a_killed_launcher_left_is_removed_and_nothing_else() {
        let host = Host::new(DELEGATED);
        let others = ["other", "picoclaw-gateway", "picoclaw-1-0", "picoclaw-tree-1-a", "picoclaw-tree-1"];
        for name in others.iter().chain(&["picoclaw-tree-1-0"]) {
            fs::create_dir(host.path("two/app").join(name)).unwrap();
        }
        let mine = host.group("0::/app\n").unwrap();
        let _more = host.group("0::/app\n").unwrap();
        assert!(!host.path("two/app/picoclaw-tree-1-0").exists(), "the lock on it was free");
        for name in others {
            assert!(host.path("two/app").join(name).exists(), "{name}");
        }
        assert!(mine.memory.dir.exists(), "its launcher lives");
    }
}
