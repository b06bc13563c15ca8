//! Sockets without `poll`: a thread connects within a wait limit, and readiness is found by trying
//! again.

use super::wait_limit::{Readiness, WaitLimit};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a wait for readiness rests before the operation is tried again.
const REST: Duration = Duration::from_millis(10);

/// Connects to an address; the socket is non-blocking. A thread connects, and is abandoned when it
/// is cancelled.
pub(crate) fn dial(address: SocketAddr, limit: &WaitLimit) -> io::Result<TcpStream> {
    let left = limit.left()?;
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("connect".to_owned()).spawn(move || {
        // The receiver is gone when the connection is not wanted any more.
        let _ = sender.send(TcpStream::connect_timeout(&address, left));
    })?;
    loop {
        match receiver.recv_timeout(limit.slice()?) {
            Ok(connected) => {
                let stream = connected?;
                stream.set_nonblocking(true)?;
                return Ok(stream);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl WaitLimit {
    /// Waits a moment: the next attempt shows whether the socket is ready.
    pub(crate) fn wait(&self, _socket: &TcpStream, _for: Readiness) -> io::Result<()> {
        thread::sleep(self.left()?.min(REST));
        Ok(())
    }
}
