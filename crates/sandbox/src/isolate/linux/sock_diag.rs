//! The path-name UNIX sockets of this network namespace, as sock_diag(7) lists them.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A socket that a process has bound to a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct BoundSocket {
    /// Device and inode of the socket file, in the kernel's own 32 bits; unknown where only names
    /// are listed.
    pub(super) id: Option<(u32, u32)>,
    /// The name it was bound by: possibly relative, and the file may have been renamed since.
    pub(super) name: PathBuf,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST and NLM_F_DUMP.
const DUMP: u16 = 0x301;
const ANSWER_ERROR: u16 = 2;
const ANSWER_DONE: u16 = 3;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: u32 = 40;
const AF_UNIX: u8 = 1;
/// `struct unix_diag_msg`, which precedes the attributes.
const MESSAGE_BYTES: usize = 16;
const SHOW_NAME: u32 = 1;
const SHOW_VFS: u32 = 2;
const ATTRIBUTE_NAME: u16 = 0;
const ATTRIBUTE_VFS: u16 = 1;

/// Every bound path-name socket, once. Kernels without `unix_diag` list the names alone.
pub(super) fn bound_sockets() -> io::Result<HashSet<BoundSocket>> {
    match dump() {
        Ok(sockets) => Ok(sockets),
        // These will be the same next time; anything else is a shortage.
        Err(Errno::NOENT | Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT | Errno::PERM | Errno::ACCESS) => {
            names_in_proc()
        }
        Err(errno) => Err(errno.into()),
    }
}

fn dump() -> Result<HashSet<BoundSocket>, Errno> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut sockets = HashSet::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        let mut rest = buffer.get(..length).unwrap_or_default();
        while let Some((kind, message, next)) = split_message(rest) {
            match kind {
                ANSWER_DONE => return Ok(sockets),
                ANSWER_ERROR => {
                    let code = u32_at(message, 0).unwrap_or_default().cast_signed();
                    return Err(Errno::from_raw_os_error(-code));
                }
                _ => sockets.extend(bound_socket(message)),
            }
            rest = next;
        }
    }
}

/// A netlink header and a `struct unix_diag_req` for sockets in every state.
fn request() -> Vec<u8> {
    let mut bytes = REQUEST_BYTES.to_ne_bytes().to_vec();
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.extend([0; 8]); // sequence number and port
    bytes.extend([AF_UNIX, 0, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes()); // states
    bytes.extend([0; 4]); // inode
    bytes.extend((SHOW_NAME | SHOW_VFS).to_ne_bytes());
    bytes.extend([0; 8]); // cookie
    bytes
}

/// The type and payload of the first netlink message, and what follows it.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let payload = bytes.get(HEADER_BYTES..length)?;
    let next = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((u16_at(bytes, 4)?, payload, next))
}

/// The socket of one message; `None` for one without a path.
fn bound_socket(message: &[u8]) -> Option<BoundSocket> {
    let (mut id, mut name) = (None, PathBuf::new());
    let mut rest = message.get(MESSAGE_BYTES..)?;
    while let Some(length) = u16_at(rest, 0).map(usize::from) {
        let Some(value) = rest.get(4..length) else { break };
        match u16_at(rest, 2)? {
            ATTRIBUTE_NAME => name = path(value),
            ATTRIBUTE_VFS => id = Some((u32_at(value, 4)?, u32_at(value, 0)?)),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(BoundSocket { id: Some(id?), name })
}

/// The names in `/proc/net/unix`: the eighth column, which may hold spaces.
fn names_in_proc() -> io::Result<HashSet<BoundSocket>> {
    let file = openat(CWD, "/proc/net/unix", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut table = Vec::new();
    std::fs::File::from(file).read_to_end(&mut table)?;
    let lines = table.split(|byte| *byte == b'\n').skip(1);
    let names =
        lines.filter_map(|line| line.iter().position(|byte| *byte == b'/').and_then(|at| line.get(at..)));
    Ok(names.map(|name| BoundSocket { id: None, name: path(name) }).collect())
}

fn path(name: &[u8]) -> PathBuf {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    OsStr::from_bytes(name.get(..end).unwrap_or_default()).into()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_bound_socket_is_listed_with_its_identity_and_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let inode = path.symlink_metadata().unwrap().ino() as u32;
        let found = bound_sockets().unwrap();
        let found: Vec<_> = found.iter().filter(|socket| socket.name == path).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].id.map(|(_, inode)| inode), Some(inode));
        let names = names_in_proc().unwrap();
        assert!(names.contains(&BoundSocket { id: None, name: path }), "{names:?}");
    }

    #[test]
    fn a_message_that_is_cut_off_is_no_socket() {
        let mut message = vec![0; MESSAGE_BYTES];
        message.extend([12u16, ATTRIBUTE_VFS].iter().flat_map(|half| half.to_ne_bytes()));
        message.extend([7u32, 9].iter().flat_map(|word| word.to_ne_bytes()));
        assert_eq!(bound_socket(&message), Some(BoundSocket { id: Some((9, 7)), name: PathBuf::new() }));
        for length in 0..message.len() {
            assert_eq!(bound_socket(&message[..length]), None, "{length}");
            assert!(split_message(&message[..length]).is_none_or(|(_, payload, _)| payload.len() < length));
        }
    }
}
