//! A closed network that several children share: a loopback interface and nothing else.

use crate::launch::linux::reap::without_orphans;
use picoclaw_sys::linux::NetNamespace;
use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;

/// A network that exists as long as this or a process in it does.
#[derive(Debug, Clone)]
pub struct ClosedNetwork(pub(super) Arc<NetNamespace>);

impl ClosedNetwork {
    /// Makes one, with a user namespace in which the user and the group are themselves, and no
    /// other is known.
    pub fn new() -> io::Result<Self> {
        let map = |id: u32| CString::new(format!("{id} {id} 1\n")).unwrap_or_default();
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        without_orphans(|| NetNamespace::new(&map(user), &map(group))).map(|made| Self(Arc::new(made)))
    }

    /// Listens for TCP connections at an address of its own.
    pub(crate) fn listen(&self, address: SocketAddrV4) -> io::Result<TcpListener> {
        without_orphans(|| self.0.listen(address))
    }

    /// Receives datagrams at an address of its own.
    pub(crate) fn receive_at(&self, address: SocketAddrV4) -> io::Result<UdpSocket> {
        without_orphans(|| self.0.receive_at(address))
    }

    /// Connects to a port of its loopback.
    pub(crate) fn connect(&self, port: u16) -> io::Result<TcpStream> {
        self.0
            .connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .or_else(|_| self.0.connect(SocketAddr::from((Ipv6Addr::LOCALHOST, port))))
    }
}
