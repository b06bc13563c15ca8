//! Who a new process is, and what it gives up.
//!
//! Invariant: after `drop_capabilities` succeeds, no capability can be had again, by any program.

use crate::linux::raw::{Errno, call, close};
use std::ffi::CStr;

/// The highest capability number that could exist.
const MOST_CAPABILITIES: u32 = 63;
/// No-root, no-setuid-fixup, no keeping of capabilities, no ambient ones: each set and locked.
const SECURE_BITS: u32 = 0b1110_1111;

/// Maps our own user and group into the new user namespace.
///
/// An undumpable process does not own its own maps, unless it is root's: it is dumpable for as long as it takes to open them.
/// Nobody can use that who could not read the instance anyway: a caged process does not see this one, and a fenced one may
/// not trace outside its Landlock domain.
pub(crate) fn map_ids(uid_map: &[u8], gid_map: &[u8]) -> Result<(), Errno> {
    let [groups, gids, uids] = match open_maps() {
        Err(libc::EACCES) => while_dumpable(open_maps)?,
        opened => opened?,
    };
    put(groups, b"deny")?;
    put(gids, gid_map)?;
    put(uids, uid_map)
}

fn open_maps() -> Result<[i32; 3], Errno> {
    let groups = open_for_writing(c"/proc/self/setgroups")?;
    let gids = open_for_writing(c"/proc/self/gid_map")?;
    Ok([groups, gids, open_for_writing(c"/proc/self/uid_map")?])
}

fn while_dumpable<T>(what: fn() -> Result<T, Errno>) -> Result<T, Errno> {
    // SAFETY: integers only.
    unsafe {
        let dumpable = call!(libc::SYS_prctl, libc::PR_GET_DUMPABLE, 0, 0, 0, 0)?;
        call!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 1, 0, 0, 0)?;
        let done = what();
        call!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, dumpable, 0, 0, 0)?;
        done
    }
}

fn open_for_writing(path: &CStr) -> Result<i32, Errno> {
    // SAFETY: a live path and integers.
    Ok(unsafe { call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC)? }
        as i32)
}

fn put(fd: i32, content: &[u8]) -> Result<(), Errno> {
    // SAFETY: the content is alive and its length is passed with it.
    let written = unsafe { call!(libc::SYS_write, fd, content.as_ptr(), content.len()) };
    close(fd);
    written.map(drop)
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default)]
struct CapabilityWords {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability for good, and reads back that none is left.
pub(crate) fn drop_capabilities() -> Result<(), Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let nothing = [CapabilityWords::default(); 2];
    let mut left = [CapabilityWords { effective: 1, permitted: 1, inheritable: 1 }; 2];
    // SAFETY: integers; header and words are alive and of the kernel's layout for version 3.
    unsafe {
        for capability in 0..=MOST_CAPABILITIES {
            match call!(libc::SYS_prctl, libc::PR_CAPBSET_DROP, capability, 0, 0, 0) {
                // Beyond the last one, or an ordinary user: who has none gains none without new privileges.
                Err(libc::EINVAL | libc::EPERM) => break,
                other => other?,
            };
        }
        match call!(libc::SYS_prctl, libc::PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0) {
            Err(libc::EPERM) => {}
            other => drop(other?),
        }
        call!(libc::SYS_capset, header.as_ptr(), nothing.as_ptr())?;
        call!(libc::SYS_capget, header.as_ptr(), left.as_mut_ptr())?;
    }
    if left == nothing { Ok(()) } else { Err(libc::EPERM) }
}

/// Switches the private network's own loopback on.
pub(crate) fn loopback_up() -> Result<(), Errno> {
    const UP: i16 = 0x1 | 0x40;
    let mut request = [0u8; 40];
    for (place, byte) in request.iter_mut().zip(b"lo") {
        *place = *byte;
    }
    if let Some(flags) = request.get_mut(16..18) {
        flags.copy_from_slice(&UP.to_ne_bytes());
    }
    // SAFETY: `request` is a live `ifreq`, forty bytes long: a name of sixteen and the flags behind it.
    unsafe {
        let socket = call!(libc::SYS_socket, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)?;
        let done = call!(libc::SYS_ioctl, socket, libc::SIOCSIFFLAGS, request.as_ptr());
        close(socket as i32);
        done.map(drop)
    }
}
