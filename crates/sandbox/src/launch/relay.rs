//! Relays bytes between two TCP connections.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::thread;

/// Copies both ways until both have ended.
pub(crate) fn relay(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let requests =
        thread::Builder::new().name("relay".to_owned()).spawn(move || copy(&from_client, &to_server))?;
    copy(server, client);
    let _ = requests.join();
    Ok(())
}

/// Copies one way. The end of one stream becomes the end of the other, and after an error both have
/// ended.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}
