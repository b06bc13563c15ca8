//! Takes memory of one kind, for a child in which `picoclaw doctor` tries its limit.

use crate::linux::raw_syscall::syscall;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;

const BLOCK: usize = 1 << 20;

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Anonymous memory that is shared with children.
    Shared,
    /// A memfd that no process has mapped.
    Memfd,
    /// A System V segment.
    SystemV,
    /// A file in `/tmp`.
    Tmpfs,
    /// Buffers of sockets.
    Sockets,
}

/// What was taken. It is given back when this process ends.
#[derive(Debug)]
pub struct HeldMemory(#[expect(dead_code, reason = "keeps the descriptors open")] Vec<OwnedFd>);

/// Takes `mebibytes` of one kind of memory and uses every page of it.
pub fn hold_memory(kind: MemoryKind, mebibytes: usize) -> Result<HeldMemory> {
    let held = match kind {
        MemoryKind::Shared => {
            let (access, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping, at an address that the kernel chooses.
            let at = unsafe { syscall!(libc::SYS_mmap, 0, mebibytes * BLOCK, access, flags, -1i32, 0) }?;
            // SAFETY: this memory is writable, as long as that, and used by nothing else.
            unsafe { ptr::write_bytes(at as *mut u8, 1, mebibytes * BLOCK) };
            Vec::new()
        }
        MemoryKind::SystemV => {
            // SAFETY: integers; a new segment, which goes when this process ends.
            let at = unsafe {
                let id = syscall!(libc::SYS_shmget, libc::IPC_PRIVATE, mebibytes * BLOCK, 0o600)?;
                let at = syscall!(libc::SYS_shmat, id, 0, 0);
                let _ = syscall!(libc::SYS_shmctl, id, libc::IPC_RMID, 0);
                at?
            };
            // SAFETY: the segment is attached here, as long as that, and used by nothing else.
            unsafe { ptr::write_bytes(at as *mut u8, 1, mebibytes * BLOCK) };
            Vec::new()
        }
        MemoryKind::Memfd => {
            vec![fill(rustix::fs::memfd_create("doctor", MemfdFlags::CLOEXEC)?, mebibytes)?]
        }
        MemoryKind::Tmpfs => {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            vec![fill(rustix::fs::open("/tmp", flags, Mode::RUSR)?, mebibytes)?]
        }
        MemoryKind::Sockets => fill_sockets(mebibytes)?,
    };
    Ok(HeldMemory(held))
}

fn fill(file: OwnedFd, mebibytes: usize) -> Result<OwnedFd> {
    let block = vec![1; BLOCK];
    for _ in 0..mebibytes {
        if rustix::io::write(&file, &block)? < BLOCK {
            return Err(Errno::NOSPC);
        }
    }
    Ok(file)
}

/// Sends to sockets that are not read until they are full, as many as it takes.
fn fill_sockets(mebibytes: usize) -> Result<Vec<OwnedFd>> {
    let block = vec![1; 64 << 10];
    let (mut held, mut bytes) = (Vec::new(), 0);
    while bytes < mebibytes * BLOCK {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (from, to) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        loop {
            match send(from.as_fd(), &block, SendFlags::NOSIGNAL) {
                Ok(length) => bytes += length,
                Err(Errno::AGAIN) => break,
                Err(other) => return Err(other),
            }
        }
        held.extend([from, to]);
    }
    Ok(held)
}
