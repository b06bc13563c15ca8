//! Service notifications to systemd, as sd_notify(3): one datagram, without waiting for the
//! receiver.

use std::ffi::OsStr;
use std::io;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// There is no systemd.
#[cfg(not(target_os = "linux"))]
pub fn notify(_socket: &OsStr, _state: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sends `state` to the socket that `$NOTIFY_SOCKET` names: a path, or `@` and an abstract name.
#[cfg(target_os = "linux")]
pub fn notify(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let sender = UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    sender.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_notification_arrives_by_path_and_by_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("picoclaw-test-{}", std::process::id());
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        notify(path.as_os_str(), "READY=1").unwrap();
        notify(OsStr::new(&format!("@{name}")), "READY=1").unwrap();
        for socket in [by_path, by_name] {
            let mut state = [0; 64];
            let length = socket.recv(&mut state).unwrap();
            assert_eq!(&state[..length], b"READY=1");
        }
        assert!(notify(OsStr::new("/nowhere/at/all"), "READY=1").is_err());
    }
}
