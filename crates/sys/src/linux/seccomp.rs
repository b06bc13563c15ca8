//! Installing a seccomp filter.

use crate::linux::raw_syscall::syscall;
use rustix::io::{Errno, Result};
use std::os::fd::{FromRawFd, OwnedFd};

/// One instruction of a classic BPF program: code, jump if true, jump if false, operand.
pub type Instruction = (u16, u8, u8, u32);

/// A BPF program for seccomp, of a length that the kernel accepts.
#[derive(Debug, Clone)]
pub struct SeccompFilter(Vec<libc::sock_filter>);

impl SeccompFilter {
    /// Takes a program; `None` when it is empty or longer than the kernel accepts.
    pub fn new(program: &[Instruction]) -> Option<Self> {
        let fits = (1..=4096).contains(&program.len());
        let program = program.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
        fits.then(|| Self(program.collect()))
    }

    /// The program as the kernel lays it out, for another program to install.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * size_of::<libc::sock_filter>());
        for one in &self.0 {
            bytes.extend(one.code.to_ne_bytes());
            bytes.extend([one.jt, one.jf]);
            bytes.extend(one.k.to_ne_bytes());
        }
        bytes
    }

    /// Installs the filter in the calling thread, which must have no_new_privs.
    pub(crate) fn install(&self) -> Result<()> {
        self.install_with(0).map(drop)
    }

    /// The same for a filter that asks; the descriptor is where it does.
    pub(crate) fn install_with_listener(&self) -> Result<OwnedFd> {
        let listener = self.install_with(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
        // SAFETY: the call has just returned this descriptor, which has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(listener as i32) })
    }

    fn install_with(&self, flags: libc::c_ulong) -> Result<libc::c_long> {
        let length = u16::try_from(self.0.len()).map_err(|_| Errno::INVAL)?;
        let program = libc::sock_fprog { len: length, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program and its instructions are alive; the kernel copies them and writes
        // nothing.
        unsafe { syscall!(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) }
    }
}

impl PartialEq for SeccompFilter {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for SeccompFilter {}
