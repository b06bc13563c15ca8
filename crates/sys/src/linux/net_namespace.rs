//! A network namespace that several children share, and that has sockets of this process.
//!
//! A network namespace is owned by a user namespace, and only a process with capabilities there may
//! enter it. Both are made together and kept by their descriptors; a process of the same user that
//! enters the first may enter the second.

use crate::linux::privilege::{add_loopback_address, loopback_up, map_ids};
use crate::linux::raw_syscall::{exit, set_signal_mask, syscall};
use crate::linux::report::{Report, receive_descriptor, send_descriptor};
use crate::linux::spawn::fork;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair};
use rustix::net::{bind, connect, listen, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::{CStr, CString};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// How long a connection may take, in a network whose packets never leave the machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A network namespace with a loopback interface and nothing else, and the user namespace that owns
/// it.
#[derive(Debug)]
pub struct NetNamespace {
    user: OwnedFd,
    network: OwnedFd,
}

impl NetNamespace {
    /// Makes both namespaces; the arguments are the maps of the user namespace.
    pub fn new(uid_map: &CStr, gid_map: &CStr) -> io::Result<Self> {
        let open = |path: &CStr| openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let namespaces = (libc::CLONE_NEWUSER | libc::CLONE_NEWNET) as u32;
        let [user, network] = from_new_process(namespaces, || {
            map_ids(uid_map, gid_map)?;
            loopback_up()?;
            Ok([open(c"/proc/self/ns/user")?, open(c"/proc/self/ns/net")?])
        })?;
        Ok(Self { user, network })
    }

    /// Listens for TCP connections at an address, which the loopback interface gets if it does not
    /// have it.
    pub fn listen(&self, address: SocketAddrV4) -> io::Result<TcpListener> {
        let label = address_label(*address.ip());
        let [socket] = from_new_process(0, || {
            self.enter()?;
            label.as_ref().map_or(Ok(()), |label| add_loopback_address(label, *address.ip()))?;
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            bind(&socket, &address)?;
            listen(&socket, BACKLOG)?;
            Ok([socket])
        })?;
        Ok(socket.into())
    }

    /// Receives datagrams at an address, which the loopback interface gets if it does not have it.
    pub fn receive_at(&self, address: SocketAddrV4) -> io::Result<UdpSocket> {
        let label = address_label(*address.ip());
        let [socket] = from_new_process(0, || {
            self.enter()?;
            label.as_ref().map_or(Ok(()), |label| add_loopback_address(label, *address.ip()))?;
            let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
            bind(&socket, &address)?;
            Ok([socket])
        })?;
        Ok(socket.into())
    }

    /// Moves the calling process, which has one thread, into both.
    pub(crate) fn enter(&self) -> Result<()> {
        move_into_link_name_space(self.user.as_fd(), Some(LinkNameSpaceType::User))?;
        move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))
    }

    /// Connects to an address of this network. The socket is made by a process that has entered it.
    pub fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let [socket] = from_new_process(0, || {
            self.enter()?;
            Ok([socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?])
        })?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(CONNECT_TIMEOUT))?;
        connect(&socket, &address)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, None)?;
        Ok(socket.into())
    }
}

/// The label of an address on the loopback interface, such as `lo:c6120001`; `None` for those that
/// it has anyway.
fn address_label(address: Ipv4Addr) -> Option<CString> {
    let label = CString::new(format!("lo:{:08x}", u32::from(address))).ok();
    label.filter(|_| !address.is_loopback())
}

/// Returns the descriptors that `make` gives in a new process, which then exits. `make` keeps the
/// rules of this module's parent: it neither allocates nor locks.
fn from_new_process<const N: usize>(
    namespaces: u32,
    make: impl FnOnce() -> Result<[OwnedFd; N]>,
) -> io::Result<[OwnedFd; N]> {
    let (read, write) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let mask = set_signal_mask(u64::MAX)?;
    // SAFETY: the child makes system calls and exits.
    let forked = unsafe { fork(namespaces | libc::SIGCHLD as u32, &mut -1) };
    if forked == Ok(0) {
        match make() {
            Ok(made) => {
                for fd in &made {
                    let _ = send_descriptor(&write, fd.as_fd(), 0);
                }
            }
            Err(errno) => Report::SetupFailed(0, errno.raw_os_error()).send(&write),
        }
        exit(0);
    }
    set_signal_mask(mask)?;
    let pid = forked?;
    drop(write);
    let received = [(); N].map(|()| receive_descriptor(&read).map(|(fd, _)| fd));
    reap(pid);
    collect(received).map_err(Into::into)
}

/// Waits for a child that exits without being asked to.
pub(crate) fn reap(pid: i32) {
    // SAFETY: integers; the status is not asked for.
    while let Err(Errno::INTR) = unsafe { syscall!(libc::SYS_wait4, pid, 0, libc::__WALL, 0) } {}
}

fn collect<const N: usize>(results: [Result<OwnedFd>; N]) -> Result<[OwnedFd; N]> {
    let all: Vec<_> = results.into_iter().collect::<Result<_>>()?;
    <[OwnedFd; N]>::try_from(all).map_err(|_| Errno::PROTO)
}
