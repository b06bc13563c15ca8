//! User namespace mappings, capabilities, and the loopback interface.

use crate::linux::mount::write_file;
use crate::linux::raw_syscall::syscall;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_capabilities_secure_bits,
};
use std::ffi::CStr;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

/// No capabilities for root, on user changes or as ambient ones, and none kept; each of it locked.
const SECURE_BITS: CapabilitiesSecureBits = CapabilitiesSecureBits::NO_ROOT
    .union(CapabilitiesSecureBits::NO_ROOT_LOCKED)
    .union(CapabilitiesSecureBits::NO_SETUID_FIXUP)
    .union(CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED)
    .union(CapabilitiesSecureBits::KEEP_CAPS_LOCKED)
    .union(CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE)
    .union(CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED);

/// Writes the maps of the new user namespace.
///
/// The maps of an undumpable process belong to root. For other users the process is dumpable while
/// it opens them; a caged process has no rights over it from its own user namespace, and a fenced
/// one may not trace outside its Landlock domain.
pub(crate) fn map_ids(uid_map: &CStr, gid_map: &CStr) -> Result<()> {
    let [setgroups, gids, uids] = match open_maps() {
        Err(Errno::ACCESS) => {
            let previous = dumpable_behavior()?;
            set_dumpable_behavior(DumpableBehavior::Dumpable)?;
            let opened = open_maps();
            set_dumpable_behavior(previous)?;
            opened?
        }
        opened => opened?,
    };
    rustix::io::write(setgroups, b"deny")?;
    rustix::io::write(gids, gid_map.to_bytes())?;
    rustix::io::write(uids, uid_map.to_bytes()).map(drop)
}

fn open_maps() -> Result<[OwnedFd; 3]> {
    let open = |path: &CStr| openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    Ok([open(c"/proc/self/setgroups")?, open(c"/proc/self/gid_map")?, open(c"/proc/self/uid_map")?])
}

/// Drops every capability for good, and reads back that none is left.
pub(crate) fn drop_capabilities() -> Result<()> {
    for capability in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << capability)) {
            // Beyond the last one, or an unprivileged user, who can gain none under no_new_privs.
            Err(Errno::INVAL | Errno::PERM) => break,
            other => other?,
        }
    }
    match set_capabilities_secure_bits(SECURE_BITS) {
        Err(Errno::PERM) => {}
        other => other?,
    }
    let none = CapabilitySet::empty();
    let no_capabilities = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, no_capabilities)?;
    if capabilities(None)? == no_capabilities { Ok(()) } else { Err(Errno::PERM) }
}

/// Brings the loopback interface of a new network namespace up, and opens all its ports: root has
/// no capability there.
pub(crate) fn loopback_up() -> Result<()> {
    let mut request = interface_request(c"lo");
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    set_interface(libc::SIOCSIFFLAGS, &request)?;
    // Where `/proc` is read-only, as in some containers, the low ports stay closed.
    let _ = write_file(CWD, c"/proc/sys/net/ipv4/ip_unprivileged_port_start", b"0");
    Ok(())
}

/// Gives the loopback interface one more address under a label, such as `lo:1`, of that address
/// alone. All addresses of its network class are the interface's own then.
pub(crate) fn add_loopback_address(label: &CStr, address: Ipv4Addr) -> Result<()> {
    let mut request = interface_request(label);
    // A `sockaddr_in`: the port, which does not count, then the address.
    let mut sa_data = [0; 14];
    for (place, byte) in sa_data.iter_mut().skip(2).zip(address.octets()) {
        *place = byte as std::ffi::c_char;
    }
    request.ifr_ifru.ifru_addr = libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data };
    set_interface(libc::SIOCSIFADDR, &request)
}

fn interface_request(name: &CStr) -> libc::ifreq {
    // SAFETY: an all-zero `ifreq` is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *place = *byte as std::ffi::c_char;
    }
    request
}

fn set_interface(what: libc::c_ulong, request: &libc::ifreq) -> Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: both requests read a live `ifreq`.
    unsafe { syscall!(libc::SYS_ioctl, socket.as_raw_fd(), what, std::ptr::from_ref(request)) }?;
    Ok(())
}
