//! Relays bytes between two TCP connections.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::thread;

/// Copies both ways until both have ended; `client_ended` is called when the client has.
pub(crate) fn relay(
    client: &TcpStream,
    server: &TcpStream,
    client_ended: impl FnOnce() + Send,
) -> io::Result<()> {
    for end in [client, server] {
        // Neither end shall wait for more to send.
        let _ = end.set_nodelay(true);
    }
    thread::scope(|scope| {
        thread::Builder::new().name("relay".to_owned()).spawn_scoped(scope, || {
            copy(client, server);
            client_ended();
        })?;
        copy(server, client);
        Ok(())
    })
}

/// Copies one way. The end of one stream becomes the end of the other. After an error both are
/// reset when they are closed, so that neither peer takes what it has for the whole.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_ok() {
        let _ = to.shutdown(Shutdown::Write);
        return;
    }
    for end in [from, to] {
        reset_when_closed(end);
        // The other direction ends; nothing is sent by this.
        let _ = end.shutdown(Shutdown::Read);
    }
}

/// Makes the close of a connection a reset.
#[cfg(target_os = "linux")]
pub(crate) fn reset_when_closed(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO));
}

/// Without the option, the peer sees an end.
#[cfg(not(target_os = "linux"))]
fn reset_when_closed(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
}
