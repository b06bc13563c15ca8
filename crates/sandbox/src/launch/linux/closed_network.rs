//! A closed network that several children share: a loopback interface and nothing else.

use crate::launch::linux::reap::make_network;
use picoclaw_sys::linux::NetNamespace;
use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
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
        make_network(&map(user), &map(group)).map(|made| Self(Arc::new(made)))
    }

    /// Connects to a port of its loopback.
    pub(crate) fn connect(&self, port: u16) -> io::Result<TcpStream> {
        self.0
            .connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .or_else(|_| self.0.connect(SocketAddr::from((Ipv6Addr::LOCALHOST, port))))
    }
}
