//! One thing a new process does before it runs its program.
//!
//! Invariant: running a step allocates nothing and touches only the step's own memory and the descriptors of its process.

use crate::linux::filter::Filter;
use crate::linux::mount::{self, Depth, Ground, Identity};
use crate::linux::raw::{Errno, call};
use crate::linux::{landlock, privilege};
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

/// `RLIMIT_CPU`, which C libraries give different types.
const PROCESSOR_TIME: u32 = 0;

/// One prepared action of a new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Takes the terminal behind this descriptor as the session's own.
    ControllingTerminal(i32),
    /// Leads a process group of its own.
    OwnGroup,
    /// Puts its process group in front of the session's terminal, which this descriptor leads to.
    InFront(i32),
    /// Makes the first descriptor also known as the second.
    Descriptor(i32, i32),
    /// Works in the directory behind this descriptor.
    WorkIn(i32),
    /// Works in the directory of this name, which must be the one that was judged.
    WorkAt(CString, Option<Identity>),
    /// Lowers one resource limit, soft and hard.
    Limit(u32, u64),
    /// Gives up gaining privileges by exec.
    NoNewPrivileges,
    /// Puts the process under the Landlock rules behind this descriptor.
    Restrict(i32),
    /// Installs a system call filter.
    Filter(Arc<Filter>),
    /// Maps user and group into the new user namespace.
    MapIds(CString, CString),
    /// Makes an empty file system with these options, the yard, of which the root to be gets its own parts.
    Yard(Vec<(CString, CString)>),
    /// Makes a read-only view of this directory of the yard the root to be.
    Root(CString),
    /// Makes a directory with this mode, in the yard or beneath the root to be.
    Directory(CString, u32, Ground),
    /// Makes an empty file to mount on, in the yard or beneath the root to be.
    MountPoint(CString, Ground),
    /// Makes a file with this content in the yard.
    Content(CString, Vec<u8>),
    /// Makes a symbolic link to the first in the yard, at the second.
    Link(CString, CString),
    /// Shows a path of the host, with these attributes.
    Bind(Bind),
    /// Mounts a directory of the yard, the first, beneath the root to be, at the second, with these attributes.
    Own(CString, CString, u64, Ground),
    /// A fresh procfs, read-only, after the most process numbers were set.
    Proc(Option<CString>),
    /// Terminals of its own.
    Terminals,
    /// Makes the root to be the root.
    Pivot,
    /// Switches the private network's loopback on.
    Loopback,
    /// Gives rights back at a path, in the rules behind this descriptor.
    AllowAt(i32, CString, u64),
    /// Gives up every capability for good.
    DropCapabilities,
}

/// A path of the host and where it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The path on the host.
    pub source: CString,
    /// The path beneath the root to be.
    pub target: CString,
    /// Whose directories lie on the way to it.
    pub ground: Ground,
    /// Mount attributes.
    pub attributes: u64,
    /// Who the source was when it was judged.
    pub identity: Option<Identity>,
}

/// What steps leave for later ones.
pub(crate) struct Progress {
    yard: i32,
    root: i32,
    umask: u32,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { yard: -1, root: -1, umask: 0o077 }
    }
}

impl Step {
    /// Does it, in the process that is to be changed.
    pub(crate) fn run(&self, progress: &mut Progress) -> Result<(), Errno> {
        let (yard, root) = (progress.yard, progress.root);
        let on = |ground: Ground| if ground == Ground::Own { yard } else { root };
        match self {
            Self::WorkAt(path, expected) => work_at(path, *expected),
            Self::InFront(terminal) => in_front(*terminal),
            Self::Restrict(ruleset) => landlock::restrict(*ruleset),
            Self::Filter(filter) => filter.install(),
            Self::MapIds(uids, gids) => privilege::map_ids(uids.to_bytes(), gids.to_bytes()),
            Self::Yard(options) => {
                // The tree's modes are the plan's, not those of whoever started us.
                // SAFETY: an integer.
                progress.umask = unsafe { call!(libc::SYS_umask, 0)? } as u32;
                progress.yard = mount::filesystem(c"tmpfs", options, mount::NO_SUID | mount::NO_DEVICES)?;
                // Anywhere in this namespace will do until the pivot; nothing is ever shown from beneath `/proc`.
                mount::attach_at_host(progress.yard, c"/proc")
            }
            Self::Root(path) => {
                let attributes = mount::READ_ONLY | mount::NO_SUID | mount::NO_DEVICES;
                progress.root = mount::copy(yard, path, attributes, None, Depth::This)?;
                mount::attach_at_host(progress.root, c"/proc")
            }
            Self::Directory(path, mode, ground) => mount::directory(on(*ground), path, *mode, *ground),
            Self::MountPoint(path, ground) => mount::mount_point(on(*ground), path, *ground),
            Self::Content(path, content) => mount::file(yard, path, content),
            Self::Link(to, path) => mount::link(yard, to, path),
            Self::Bind(bind) => {
                let (source, attributes) = (&bind.source, bind.attributes);
                let tree = mount::copy(libc::AT_FDCWD, source, attributes, bind.identity, Depth::All)?;
                mount::attach(tree, root, &bind.target, bind.ground)
            }
            Self::Own(from, at, attributes, ground) => {
                let tree = mount::copy(yard, from, *attributes, None, Depth::This)?;
                mount::attach(tree, root, at, *ground)
            }
            Self::Proc(most) => proc(root, most.as_deref()),
            Self::Terminals => terminals(root),
            Self::Pivot => {
                // SAFETY: an integer.
                unsafe { call!(libc::SYS_umask, progress.umask)? };
                mount::pivot(root)
            }
            Self::Loopback => privilege::loopback_up(),
            Self::AllowAt(ruleset, path, rights) => landlock::allow_at(*ruleset, path, *rights),
            Self::DropCapabilities => privilege::drop_capabilities(),
            _ => self.run_simple(),
        }
    }

    fn run_simple(&self) -> Result<(), Errno> {
        // SAFETY: every pointer passed on points into `self` or a local, both alive across the call; the rest are
        // integers. The calls change the process they run in, which is a fresh child of ours.
        unsafe {
            match self {
                Self::OwnGroup => call!(libc::SYS_setpgid, 0, 0),
                Self::ControllingTerminal(fd) => call!(libc::SYS_ioctl, *fd, libc::TIOCSCTTY, 0),
                // dup3 refuses equal numbers; there the descriptor only has to survive the exec.
                Self::Descriptor(from, to) if from == to => call!(libc::SYS_fcntl, *from, libc::F_SETFD, 0),
                Self::Descriptor(from, to) => call!(libc::SYS_dup3, *from, *to, 0),
                Self::WorkIn(fd) => call!(libc::SYS_fchdir, *fd),
                Self::Limit(resource, value) => {
                    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
                    call!(libc::SYS_prlimit64, 0, *resource, 0, &raw mut limit)?;
                    // A host that gives less has its reasons, and raising needs a privilege.
                    limit.rlim_cur = limit.rlim_max.min(*value);
                    // Of processor time the first second beyond is told by a signal of its own, and only the next is death.
                    let more = u64::from(*resource == PROCESSOR_TIME);
                    limit.rlim_max = limit.rlim_max.min(value.saturating_add(more));
                    call!(libc::SYS_prlimit64, 0, *resource, &raw const limit, 0)
                }
                Self::NoNewPrivileges => call!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                _ => Err(libc::ENOSYS),
            }
        }
        .map(drop)
    }
}

/// The kernel stops a process behind that wants to be in front, unless it has SIGTTOU blocked.
fn in_front(terminal: i32) -> Result<(), Errno> {
    let (asked, mut before) = (1u64 << (libc::SIGTTOU - 1), 0u64);
    // SAFETY: two live masks of the kernel's size, a live process number, integers.
    unsafe {
        let group = call!(libc::SYS_getpid)? as i32;
        call!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const asked, &raw mut before, 8)?;
        let done = call!(libc::SYS_ioctl, terminal, libc::TIOCSPGRP, &raw const group);
        call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, 0, 8)?;
        done.map(drop)
    }
}

fn work_at(path: &std::ffi::CStr, expected: Option<Identity>) -> Result<(), Errno> {
    // SAFETY: a live path.
    unsafe { call!(libc::SYS_chdir, path.as_ptr())? };
    // SAFETY: a static path and integers.
    let here =
        unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, c".".as_ptr(), libc::O_PATH | libc::O_CLOEXEC)? }
            as i32;
    match expected {
        Some(expected) if mount::identity(here)? != expected => Err(libc::ESTALE),
        _ => Ok(()),
    }
}

fn proc(root: i32, most: Option<&std::ffi::CStr>) -> Result<(), Errno> {
    let attributes = mount::NO_SUID | mount::NO_DEVICES | mount::NO_EXEC;
    let proc = mount::filesystem(c"proc", &[], attributes)?;
    if let Some(most) = most {
        // Kernels before 6.14 have one limit for all namespaces and refuse this; the limit on the user stays.
        let _ = mount::write(proc, c"sys/kernel/pid_max", most.to_bytes());
    }
    mount::set_attributes(proc, attributes | mount::READ_ONLY, 0)?;
    mount::attach(proc, root, c"proc", Ground::Own)
}

fn terminals(root: i32) -> Result<(), Errno> {
    let attributes = mount::NO_SUID | mount::NO_EXEC;
    let terminals = mount::filesystem(c"devpts", &[], attributes)?;
    // SAFETY: a static path and integers. The kernel makes the multiplexer unusable unless told otherwise.
    unsafe { call!(libc::SYS_fchmodat, terminals, c"ptmx".as_ptr(), 0o666)? };
    mount::attach(terminals, root, c"dev/pts", Ground::Own)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControllingTerminal(_) => f.write_str("take the terminal"),
            Self::OwnGroup => f.write_str("lead a process group"),
            Self::InFront(_) => f.write_str("come to the front of the terminal"),
            Self::Descriptor(_, to) => write!(f, "set descriptor {to}"),
            Self::WorkIn(_) => f.write_str("enter the working directory"),
            Self::WorkAt(path, _) => write!(f, "enter `{}`", path.to_string_lossy()),
            Self::Limit(resource, value) => write!(f, "limit resource {resource} to {value}"),
            Self::NoNewPrivileges => f.write_str("give up new privileges"),
            Self::Restrict(_) => f.write_str("enter the Landlock domain"),
            Self::Filter(_) => f.write_str("install the system call filter"),
            Self::MapIds(..) => f.write_str("map user and group"),
            Self::Yard(_) => f.write_str("make a file system of its own"),
            Self::Root(_) => f.write_str("make a new root"),
            Self::Directory(path, ..) => write!(f, "make the directory `{}`", path.to_string_lossy()),
            Self::MountPoint(path, _) => write!(f, "make the file `{}`", path.to_string_lossy()),
            Self::Content(path, _) => write!(f, "write `{}`", path.to_string_lossy()),
            Self::Link(_, path) => write!(f, "link `{}`", path.to_string_lossy()),
            Self::Bind(bind) => {
                write!(f, "show `{}` at `/{}`", bind.source.to_string_lossy(), bind.target.to_string_lossy())
            }
            Self::Own(_, at, ..) => write!(f, "make `/{}` the cage's own", at.to_string_lossy()),
            Self::Proc(_) => f.write_str("mount `/proc`"),
            Self::Terminals => f.write_str("mount `/dev/pts`"),
            Self::Pivot => f.write_str("enter the new root"),
            Self::Loopback => f.write_str("switch the loopback on"),
            Self::AllowAt(_, path, _) => write!(f, "allow `{}`", path.to_string_lossy()),
            Self::DropCapabilities => f.write_str("give up all capabilities"),
        }
    }
}
