//! One thing a new process does before it runs its program.
//!
//! Invariant: running a step allocates nothing and touches only the step's own memory.

use crate::linux::raw::{Errno, call};
use std::ffi::CString;
use std::fmt;

/// One prepared action of a new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Leads a session of its own.
    NewSession,
    /// Takes the terminal behind this descriptor as the session's own.
    ControllingTerminal(i32),
    /// Makes the first descriptor also known as the second.
    Descriptor(i32, i32),
    /// Works in the directory behind this descriptor.
    WorkIn(i32),
    /// Works in the directory of this name.
    WorkAt(CString),
    /// Sets one resource limit, soft and hard.
    Limit(u32, u64),
    /// Gives up gaining privileges by exec.
    NoNewPrivileges,
}

impl Step {
    /// Does it, in the process that is to be changed.
    pub(crate) fn run(&self) -> Result<(), Errno> {
        // SAFETY: every pointer passed on points into `self` or a local, both alive across the call; the rest are
        // integers. The calls change the process they run in, which is a fresh child of ours.
        unsafe {
            match self {
                Self::NewSession => call!(libc::SYS_setsid),
                Self::ControllingTerminal(fd) => call!(libc::SYS_ioctl, *fd, libc::TIOCSCTTY, 0),
                // dup3 refuses equal numbers; there the descriptor only has to survive the exec.
                Self::Descriptor(from, to) if from == to => call!(libc::SYS_fcntl, *from, libc::F_SETFD, 0),
                Self::Descriptor(from, to) => call!(libc::SYS_dup3, *from, *to, 0),
                Self::WorkIn(fd) => call!(libc::SYS_fchdir, *fd),
                Self::WorkAt(path) => call!(libc::SYS_chdir, path.as_ptr()),
                Self::Limit(resource, value) => {
                    let limit = libc::rlimit64 { rlim_cur: *value, rlim_max: *value };
                    call!(libc::SYS_prlimit64, 0, *resource, &raw const limit, 0)
                }
                Self::NoNewPrivileges => call!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            }
        }
        .map(drop)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewSession => f.write_str("lead a session"),
            Self::ControllingTerminal(_) => f.write_str("take the terminal"),
            Self::Descriptor(_, to) => write!(f, "set descriptor {to}"),
            Self::WorkIn(_) => f.write_str("enter the working directory"),
            Self::WorkAt(path) => write!(f, "enter `{}`", path.to_string_lossy()),
            Self::Limit(resource, value) => write!(f, "limit resource {resource} to {value}"),
            Self::NoNewPrivileges => f.write_str("give up new privileges"),
        }
    }
}
