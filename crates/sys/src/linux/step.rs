//! One prepared action of a new process before it runs its program.

use crate::linux::mount::{self, DevIno, PathOwner, Submounts};
use crate::linux::raw_syscall::{borrow_fd, set_signal_mask, syscall};
use crate::linux::seccomp::SeccompFilter;
use crate::linux::{landlock, privilege};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, openat, stat};
use rustix::io::{Errno, FdFlags, Result, fcntl_setfd};
use rustix::process::{Pid, Resource, Rlimit};
use rustix::process::{chdir, fchdir, getpid, getrlimit, ioctl_tiocsctty, setpgid, setrlimit, setsid, umask};
use rustix::thread::set_no_new_privs;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

/// One action. Descriptors are given by number; paths beneath the tmpfs and the new root are
/// relative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Makes this terminal the controlling terminal of the session.
    ControllingTerminal(i32),
    /// Moves this process into the cgroup whose `cgroup.procs` this descriptor is.
    JoinCgroup(i32),
    /// Becomes the leader of a new session.
    NewSession,
    /// Becomes the leader of a new process group.
    NewProcessGroup,
    /// Makes its process group the foreground group of this terminal.
    ForegroundGroup(i32),
    /// Duplicates the first descriptor to the second number, without close-on-exec.
    DupFd(i32, i32),
    /// Closes this descriptor at the exec.
    CloseOnExec(i32),
    /// Opens a device of the file tree that the command sees, with this access mode, as the last
    /// number.
    OpenDevice(CString, OFlags, i32),
    /// Changes to the directory behind this descriptor.
    Fchdir(i32),
    /// Changes to this directory, which must have this device and inode.
    Chdir(CString, DevIno),
    /// Lowers a resource limit, soft and hard.
    Rlimit(Resource, u64),
    /// Sets no_new_privs.
    NoNewPrivileges,
    /// Enforces the Landlock ruleset behind this descriptor.
    LandlockRestrict(i32),
    /// Installs a seccomp filter.
    Seccomp(Arc<SeccompFilter>),
    /// Installs the first filter, which asks the supervisor, or the second, which refuses instead,
    /// where another filter asks already, the kernel is too old for it or no descriptor is left.
    SeccompAsking(Arc<SeccompFilter>, Arc<SeccompFilter>),
    /// Writes `uid_map` and `gid_map` of the new user namespace.
    MapIds(CString, CString),
    /// Mounts the cage's own tmpfs with these options.
    Tmpfs(Vec<(CString, CString)>),
    /// Mounts this directory of the tmpfs, read-only, as the new root.
    NewRoot(CString),
    /// Makes a directory with this mode in the tmpfs ([`PathOwner::Cage`]) or beneath the new root.
    Directory(CString, u32, PathOwner),
    /// Makes an empty file to mount on in the tmpfs ([`PathOwner::Cage`]) or beneath the new root.
    MountPoint(CString, PathOwner),
    /// Makes a file with this content in the tmpfs.
    File(CString, Vec<u8>),
    /// Makes a symbolic link to the first path in the tmpfs, at the second.
    Symlink(CString, CString),
    /// Bind-mounts a path of the host.
    Bind(BindMount),
    /// Mounts a directory of the tmpfs, the first path, beneath the new root at the second, with
    /// these attributes.
    BindTmpfs(CString, CString, u64, PathOwner),
    /// Mounts an overlay of a directory of the host and one of the tmpfs.
    Overlay(OverlayMount),
    /// Keeps the host's `/proc` for [`Step::Proc`], read-only and with what is mounted in it.
    HostProc,
    /// Mounts what [`Step::HostProc`] kept, or a new read-only procfs, after setting
    /// `kernel.pid_max` to this value.
    Proc(Option<CString>),
    /// Mounts a devpts.
    Devpts,
    /// Mounts the message queues of the IPC namespace.
    Mqueue,
    /// Shows the controlling terminal, if there is one, as `/dev/console`: the first path makes the
    /// file to mount on, in the tmpfs. A terminal of the host's devpts has no other name in the
    /// cage.
    Console(CString, Option<(CString, DevIno)>),
    /// Makes the new root the root.
    PivotRoot,
    /// Brings the loopback interface up.
    LoopbackUp,
    /// Allows these rights at a path in the Landlock ruleset behind this descriptor.
    LandlockAllow(i32, CString, u64),
    /// Drops every capability for good.
    DropCapabilities,
}

/// A directory of the host that is changed in a directory of the tmpfs instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMount {
    /// The directory on the host.
    pub lower: CString,
    /// Its device and inode.
    pub expected: DevIno,
    /// The directory of the tmpfs that takes the changes.
    pub upper: CString,
    /// The directory of the tmpfs that the file system works in.
    pub work: CString,
    /// The path beneath the new root.
    pub target: CString,
    /// Whose directories lead to the target.
    pub owner: PathOwner,
}

/// A path of the host, and where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMount {
    /// The path on the host.
    pub source: CString,
    /// The path beneath the new root.
    pub target: CString,
    /// Whose directories lead to the target.
    pub owner: PathOwner,
    /// Mount attributes.
    pub attributes: u64,
    /// Device and inode that the source must have.
    pub expected: Option<DevIno>,
}

/// What steps leave for later ones.
#[derive(Default)]
pub(crate) struct SetupState {
    host_proc: Option<OwnedFd>,
    tmpfs: Option<OwnedFd>,
    new_root: Option<OwnedFd>,
    umask: Option<Mode>,
    /// Where an installed filter asks.
    pub(crate) listener: Option<OwnedFd>,
}

impl SetupState {
    fn tmpfs(&self) -> Result<BorrowedFd<'_>> {
        self.tmpfs.as_ref().map(AsFd::as_fd).ok_or(Errno::BADF)
    }

    fn new_root(&self) -> Result<BorrowedFd<'_>> {
        self.new_root.as_ref().map(AsFd::as_fd).ok_or(Errno::BADF)
    }

    fn base(&self, owner: PathOwner) -> Result<BorrowedFd<'_>> {
        match owner {
            PathOwner::Cage => self.tmpfs(),
            PathOwner::Host => self.new_root(),
        }
    }
}

impl Step {
    /// Carries the step out in the calling process.
    pub(crate) fn run(&self, state: &mut SetupState) -> Result<()> {
        match self {
            Self::ControllingTerminal(terminal) => ioctl_tiocsctty(borrow_fd(*terminal)),
            Self::JoinCgroup(procs) => rustix::io::write(borrow_fd(*procs), b"0").map(drop),
            Self::NewSession => setsid().map(drop),
            Self::NewProcessGroup => setpgid(None, None),
            Self::ForegroundGroup(terminal) => foreground_group(borrow_fd(*terminal), getpid()),
            // dup3 refuses equal numbers; there the descriptor only has to survive the exec.
            Self::DupFd(from, to) if from == to => fcntl_setfd(borrow_fd(*from), FdFlags::empty()),
            // SAFETY: integers; this process uses the descriptor behind the second number for
            // nothing else.
            Self::DupFd(from, to) => unsafe { syscall!(libc::SYS_dup3, *from, *to, 0) }.map(drop),
            Self::CloseOnExec(fd) => fcntl_setfd(borrow_fd(*fd), FdFlags::CLOEXEC),
            Self::OpenDevice(path, mode, to) => open_device(path, *mode, *to),
            Self::Fchdir(directory) => fchdir(borrow_fd(*directory)),
            Self::Chdir(path, expected) => change_directory(path, *expected),
            Self::Rlimit(resource, value) => lower_limit(*resource, *value),
            Self::NoNewPrivileges => set_no_new_privs(true),
            Self::LandlockRestrict(ruleset) => landlock::restrict_self(*ruleset),
            Self::Seccomp(filter) => filter.install(),
            Self::SeccompAsking(asking, refusing) => match asking.install_with_listener() {
                Ok(listener) => {
                    state.listener = Some(listener);
                    Ok(())
                }
                Err(Errno::BUSY | Errno::INVAL | Errno::MFILE | Errno::NFILE) => refusing.install(),
                Err(errno) => Err(errno),
            },
            Self::MapIds(uids, gids) => privilege::map_ids(uids, gids),
            Self::Tmpfs(options) => {
                // Modes are those that the steps name, not limited by the caller's umask.
                state.umask = Some(umask(Mode::empty()));
                let attributes = mount::NO_SUID | mount::NO_DEVICES;
                let tmpfs = mount::new_filesystem(c"tmpfs", options, attributes)?;
                // Any directory of this mount namespace will do until the pivot; nothing is
                // bind-mounted from `/proc` from here on.
                mount::attach_at_host(&tmpfs, c"/proc")?;
                state.tmpfs = Some(tmpfs);
                Ok(())
            }
            Self::NewRoot(path) => {
                let attributes = mount::READ_ONLY | mount::NO_SUID | mount::NO_DEVICES;
                let root = mount::clone_tree(state.tmpfs()?, path, attributes, None, Submounts::Without)?;
                mount::attach_at_host(&root, c"/proc")?;
                state.new_root = Some(root);
                Ok(())
            }
            Self::Directory(path, mode, owner) => {
                mount::make_directory(state.base(*owner)?, path, *mode, *owner)
            }
            Self::MountPoint(path, owner) => mount::make_mount_point(state.base(*owner)?, path, *owner),
            Self::File(path, content) => mount::make_file(state.tmpfs()?, path, content),
            Self::Symlink(to, path) => mount::make_symlink(state.tmpfs()?, to, path),
            Self::Bind(BindMount { source, target, owner, attributes, expected }) => {
                let tree = mount::clone_tree(CWD, source, *attributes, *expected, Submounts::With)?;
                mount::attach(tree, state.new_root()?, target, *owner)
            }
            Self::BindTmpfs(from, at, attributes, owner) => {
                let tree = mount::clone_tree(state.tmpfs()?, from, *attributes, None, Submounts::Without)?;
                mount::attach(tree, state.new_root()?, at, *owner)
            }
            Self::Overlay(OverlayMount { lower, expected, upper, work, target, owner }) => {
                let overlay = mount::overlay(lower, *expected, state.tmpfs()?, (upper, work))?;
                mount::attach(overlay, state.new_root()?, target, *owner)
            }
            Self::HostProc => {
                let attributes = mount::READ_ONLY | mount::NO_SUID | mount::NO_DEVICES | mount::NO_EXEC;
                let proc = mount::clone_tree(CWD, c"/proc", attributes, None, Submounts::With)?;
                state.host_proc = Some(proc);
                Ok(())
            }
            Self::Proc(pid_max) => {
                let proc = match state.host_proc.take() {
                    Some(proc) => proc,
                    None => new_proc(pid_max.as_deref())?,
                };
                mount::attach(proc, state.new_root()?, c"proc", PathOwner::Cage)
            }
            Self::Devpts => mount_devpts(state.new_root()?),
            Self::Mqueue => {
                let attributes = mount::NO_SUID | mount::NO_DEVICES | mount::NO_EXEC;
                match mount::new_filesystem(c"mqueue", &[], attributes) {
                    Ok(mqueue) => mount::attach(mqueue, state.new_root()?, c"dev/mqueue", PathOwner::Cage),
                    // A kernel without message queues.
                    Err(Errno::NODEV) => Ok(()),
                    Err(why) => Err(why),
                }
            }
            Self::Console(_, None) => Ok(()),
            Self::Console(mount_point, Some((terminal, expected))) => {
                mount::make_mount_point(state.tmpfs()?, mount_point, PathOwner::Cage)?;
                // A device on a read-only mount can still be written, but its mode cannot be
                // changed.
                let attributes = mount::NO_SUID | mount::NO_EXEC | mount::READ_ONLY;
                let tree = mount::clone_tree(CWD, terminal, attributes, Some(*expected), Submounts::Without)?;
                mount::attach(tree, state.new_root()?, c"dev/console", PathOwner::Cage)
            }
            Self::PivotRoot => {
                if let Some(mask) = state.umask {
                    umask(mask);
                }
                mount::pivot_root(state.new_root()?)
            }
            Self::LoopbackUp => privilege::loopback_up(),
            Self::LandlockAllow(ruleset, path, rights) => landlock::allow_path(*ruleset, path, *rights),
            Self::DropCapabilities => privilege::drop_capabilities(),
        }
    }
}

/// Signals are blocked meanwhile: the kernel stops a background process that changes the foreground
/// group with SIGTTOU.
pub(crate) fn foreground_group(terminal: impl AsFd, group: Pid) -> Result<()> {
    let mask = set_signal_mask(u64::MAX)?;
    let done = rustix::termios::tcsetpgrp(terminal, group);
    set_signal_mask(mask)?;
    done
}

fn open_device(path: &CStr, mode: OFlags, to: i32) -> Result<()> {
    // Closed first: the inherited descriptors may be more than the limit allows, and then this
    // number is the only free one. SAFETY: an integer; this process uses the descriptor behind the
    // number for nothing else.
    let _ = unsafe { syscall!(libc::SYS_close, to) };
    let device = openat(CWD, path, mode | OFlags::NOCTTY, Mode::empty())?.into_raw_fd();
    if device == to {
        return Ok(());
    }
    // SAFETY: integers; the device is open under its own number until here.
    unsafe {
        let moved = syscall!(libc::SYS_dup3, device, to, 0);
        let _ = syscall!(libc::SYS_close, device);
        moved.map(drop)
    }
}

fn change_directory(path: &CStr, expected: DevIno) -> Result<()> {
    chdir(path)?;
    let here = stat(c".")?;
    let found = DevIno { device: here.st_dev, inode: here.st_ino };
    if found == expected { Ok(()) } else { Err(Errno::STALE) }
}

/// Lowers a limit. A host's lower limit stays, since raising it needs a privilege.
fn lower_limit(resource: Resource, value: u64) -> Result<()> {
    let maximum = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    // Beyond the soft limit on processor time the kernel sends SIGXCPU, beyond the hard one
    // SIGKILL.
    let hard = value.saturating_add(u64::from(resource == Resource::Cpu));
    setrlimit(resource, Rlimit { current: Some(maximum.min(value)), maximum: Some(maximum.min(hard)) })
}

fn new_proc(pid_max: Option<&CStr>) -> Result<OwnedFd> {
    let attributes = mount::NO_SUID | mount::NO_DEVICES | mount::NO_EXEC;
    let proc = mount::new_filesystem(c"proc", &[], attributes)?;
    if let Some(pid_max) = pid_max {
        // Kernels before 6.14 have one value for all namespaces and refuse this; RLIMIT_NPROC holds
        // there.
        let _ = mount::write_file(&proc, c"sys/kernel/pid_max", pid_max.to_bytes());
    }
    mount::make_read_only(&proc)?;
    Ok(proc)
}

fn mount_devpts(root: BorrowedFd<'_>) -> Result<()> {
    let devpts = mount::new_filesystem(c"devpts", &[], mount::NO_SUID | mount::NO_EXEC)?;
    // A new devpts has a ptmx without any permission.
    chmodat(&devpts, c"ptmx", Mode::from_raw_mode(0o666), AtFlags::empty())?;
    mount::attach(devpts, root, c"dev/pts", PathOwner::Cage)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControllingTerminal(_) => f.write_str("take the terminal"),
            Self::JoinCgroup(_) => f.write_str("join a cgroup"),
            Self::NewSession => f.write_str("lead a session"),
            Self::NewProcessGroup => f.write_str("lead a process group"),
            Self::ForegroundGroup(_) => f.write_str("come to the front of the terminal"),
            Self::DupFd(_, to) => write!(f, "set descriptor {to}"),
            Self::CloseOnExec(fd) => write!(f, "close descriptor {fd}"),
            Self::OpenDevice(path, ..) => write!(f, "open `{}`", path.to_string_lossy()),
            Self::Fchdir(_) => f.write_str("enter the working directory"),
            Self::Chdir(path, _) => write!(f, "enter `{}`", path.to_string_lossy()),
            Self::Rlimit(resource, value) => write!(f, "limit {resource:?} to {value}"),
            Self::NoNewPrivileges => f.write_str("give up new privileges"),
            Self::LandlockRestrict(_) => f.write_str("enter the Landlock domain"),
            Self::Seccomp(_) | Self::SeccompAsking(..) => f.write_str("install the system call filter"),
            Self::MapIds(..) => f.write_str("map user and group"),
            Self::Tmpfs(_) => f.write_str("mount a tmpfs"),
            Self::NewRoot(_) => f.write_str("make a new root"),
            Self::Directory(path, ..) => write!(f, "make the directory `{}`", path.to_string_lossy()),
            Self::MountPoint(path, _) => write!(f, "make the file `{}`", path.to_string_lossy()),
            Self::File(path, _) => write!(f, "write `{}`", path.to_string_lossy()),
            Self::Symlink(_, path) => write!(f, "link `{}`", path.to_string_lossy()),
            Self::Bind(BindMount { source, target, .. }) => {
                write!(f, "show `{}` at `/{}`", source.to_string_lossy(), target.to_string_lossy())
            }
            Self::BindTmpfs(_, at, ..) => write!(f, "mount a private `/{}`", at.to_string_lossy()),
            Self::Overlay(OverlayMount { lower, .. }) => {
                write!(f, "mount an overlay over `{}` (Linux 6.8)", lower.to_string_lossy())
            }
            Self::HostProc => f.write_str("show the host's `/proc`"),
            Self::Proc(_) => f.write_str("mount `/proc`"),
            Self::Devpts => f.write_str("mount `/dev/pts`"),
            Self::Mqueue => f.write_str("mount `/dev/mqueue`"),
            Self::Console(..) => f.write_str("show the terminal as `/dev/console`"),
            Self::PivotRoot => f.write_str("enter the new root"),
            Self::LoopbackUp => f.write_str("switch the loopback on"),
            Self::LandlockAllow(_, path, _) => write!(f, "allow `{}`", path.to_string_lossy()),
            Self::DropCapabilities => f.write_str("give up all capabilities"),
        }
    }
}
