//! Connecting to an address: the one place that does.
//!
//! Invariant: the socket that comes back is connected to the address that was given, and waits for nobody.

use super::bound::Bound;
use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, TcpStream};

pub(super) fn dial(address: SocketAddr, bound: &Bound) -> io::Result<TcpStream> {
    bound.left()?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS) => {
            bound.wait(&socket, PollFlags::OUT)?;
            sockopt::socket_error(&socket)??;
        }
        Err(why) => return Err(why.into()),
    }
    Ok(TcpStream::from(socket))
}
