//! A system call filter, ready to be installed.
//!
//! Invariant: a filter is never empty and never longer than the kernel takes.

use crate::linux::raw::{Errno, call};

/// One instruction of a classic packet filter: code, jump if true, jump if false, operand.
pub type Instruction = (u16, u8, u8, u32);

/// A complete program for seccomp.
#[derive(Debug, Clone)]
pub struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Takes a program; `None` when the kernel would not.
    pub fn new(program: &[Instruction]) -> Option<Self> {
        let fits = (1..=4096).contains(&program.len());
        let program = program.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
        fits.then(|| Self(program.collect()))
    }

    /// The program as the kernel lays it out, for another program to install.
    pub fn bytes(&self) -> Vec<u8> {
        let words = |one: &libc::sock_filter| {
            let mut bytes = [0u8; 8];
            let parts = one.code.to_ne_bytes().into_iter().chain([one.jt, one.jf]).chain(one.k.to_ne_bytes());
            bytes.iter_mut().zip(parts).for_each(|(place, byte)| *place = byte);
            bytes
        };
        self.0.iter().flat_map(words).collect()
    }

    pub(crate) fn install(&self) -> Result<(), Errno> {
        let length = u16::try_from(self.0.len()).map_err(|_| libc::EINVAL)?;
        let program = libc::sock_fprog { len: length, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program and its instructions are alive; the kernel copies them and writes nothing.
        unsafe { call!(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)? };
        Ok(())
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        let parts = |filter: &libc::sock_filter| (filter.code, filter.jt, filter.jf, filter.k);
        self.0.iter().map(parts).eq(other.0.iter().map(parts))
    }
}

impl Eq for Filter {}
