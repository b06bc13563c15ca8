//! The messages between a supervisor and its parent: reports one way, commands the other.

use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, send, sendmsg,
};
use rustix::process::Signal;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The length of an encoded report.
pub(crate) const REPORT_LENGTH: usize = 12;

/// One fact about a child, from its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The command's program runs.
    Started,
    /// A setup step failed: its position and the `errno`.
    SetupFailed(usize, i32),
    /// A step of the command failed: its position and the `errno`.
    CommandFailed(usize, i32),
    /// The program could not be executed, with this `errno`.
    ExecFailed(i32),
    /// The program exists and could not be executed, because its interpreter or loader does not.
    InterpreterMissing,
    /// The command ended with this wait status; other processes of the tree are left.
    CommandEnded(i32),
    /// The tree exceeded its memory limit and is being killed.
    OutOfMemory,
    /// The tree has reached its deadline and is being ended.
    TimedOut,
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The whole tree has ended, its command with this wait status. The supervisor exits next.
    TreeEnded(i32),
}

impl Report {
    /// Decodes one message; `None` when it is not a report.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| -> Option<i32> {
            Some(i32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
        };
        let (kind, position, value) = (word(0)?, usize::try_from(word(4)?).ok()?, word(8)?);
        match kind {
            1 => Some(Self::Started),
            2 => Some(Self::SetupFailed(position, value)),
            3 => Some(Self::CommandFailed(position, value)),
            4 => Some(Self::ExecFailed(value)),
            5 => Some(Self::CommandEnded(value)),
            6 => Some(Self::OutOfMemory),
            7 => Some(Self::Stopped(value)),
            8 => Some(Self::TreeEnded(value)),
            9 => Some(Self::TimedOut),
            10 => Some(Self::InterpreterMissing),
            _ => None,
        }
    }

    fn encode(self) -> [u8; REPORT_LENGTH] {
        let (kind, position, value) = match self {
            Self::Started => (1, 0, 0),
            Self::SetupFailed(at, errno) => (2, at, errno),
            Self::CommandFailed(at, errno) => (3, at, errno),
            Self::ExecFailed(errno) => (4, 0, errno),
            Self::CommandEnded(status) => (5, 0, status),
            Self::OutOfMemory => (6, 0, 0),
            Self::Stopped(signal) => (7, 0, signal),
            Self::TreeEnded(status) => (8, 0, status),
            Self::TimedOut => (9, 0, 0),
            Self::InterpreterMissing => (10, 0, 0),
        };
        let words = [kind, i32::try_from(position).unwrap_or(i32::MAX), value];
        let mut bytes = [0; REPORT_LENGTH];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&i32::to_ne_bytes(word));
        }
        bytes
    }

    /// Sends the report over the control socket. A parent that is gone needs none.
    pub(crate) fn send(self, control: impl AsFd) {
        let _ = send(control, &self.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Reads a report from a socket; `None` when it was closed without one. A message that brings a
    /// descriptor is none.
    pub(crate) fn read(socket: impl AsFd, descriptor: &mut Option<OwnedFd>) -> Result<Option<Self>> {
        loop {
            match Message::receive(&socket, RecvFlags::empty())? {
                None => return Ok(None),
                Some(Message::Report(report)) => return Ok(Some(report)),
                Some(Message::Descriptor(received, _)) => *descriptor = Some(received),
            }
        }
    }
}

/// One message of a new process to its parent.
#[derive(Debug)]
pub enum Message {
    /// A report.
    Report(Report),
    /// A descriptor, and a number that says which.
    Descriptor(OwnedFd, i32),
}

impl Message {
    /// Receives one message; `None` when the socket was closed, `EPROTO` for anything else.
    pub fn receive(socket: impl AsFd, flags: RecvFlags) -> Result<Option<Self>> {
        let mut bytes = [0; REPORT_LENGTH];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let length = recvmsg(socket, &mut parts, &mut control, flags | RecvFlags::CMSG_CLOEXEC)?.bytes;
        let received = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        if let Some(descriptor) = received {
            let [a, b, c, d, ..] = bytes;
            return Ok(Some(Self::Descriptor(descriptor, i32::from_ne_bytes([a, b, c, d]))));
        }
        match bytes.get(..length) {
            None | Some([]) => Ok(None),
            Some(message) => Report::decode(message).map(Self::Report).map(Some).ok_or(Errno::PROTO),
        }
    }
}

/// Receives a descriptor and its number, or the error of a step that failed instead.
pub(crate) fn receive_descriptor(socket: impl AsFd) -> Result<(OwnedFd, i32)> {
    match Message::receive(socket, RecvFlags::empty())? {
        Some(Message::Descriptor(descriptor, number)) => Ok((descriptor, number)),
        Some(Message::Report(Report::SetupFailed(_, errno))) => Err(Errno::from_raw_os_error(errno)),
        Some(Message::Report(_)) | None => Err(Errno::PIPE),
    }
}

/// Sends a descriptor, with a number, to the reader of reports.
pub(crate) fn send_descriptor(socket: impl AsFd, descriptor: BorrowedFd<'_>, number: i32) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&number.to_ne_bytes())], &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// What a parent asks of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorCommand {
    /// End the tree: SIGTERM, two seconds, SIGKILL.
    Terminate,
    /// End the tree with SIGKILL now.
    Kill,
    /// Send this signal to the command's process group.
    Forward(Signal),
    /// Make the command's process group the foreground group of its terminal.
    Foreground,
}

impl SupervisorCommand {
    /// The command as it goes over the control socket.
    pub fn encode(self) -> [u8; 2] {
        match self {
            Self::Terminate => [b'T', 0],
            Self::Kill => [b'K', 0],
            Self::Forward(signal) => [b'F', u8::try_from(signal.as_raw()).unwrap_or(0)],
            Self::Foreground => [b'G', 0],
        }
    }

    pub(crate) fn decode(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [b'T', _] => Some(Self::Terminate),
            [b'K', _] => Some(Self::Kill),
            [b'F', signal] => Signal::from_named_raw(i32::from(signal)).map(Self::Forward),
            [b'G', _] => Some(Self::Foreground),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        for report in [
            Report::Started,
            Report::SetupFailed(7, libc::EPERM),
            Report::CommandFailed(0, libc::EINVAL),
            Report::ExecFailed(libc::ENOENT),
            Report::CommandEnded(0x0f00),
            Report::OutOfMemory,
            Report::Stopped(libc::SIGTTIN),
            Report::TreeEnded(0x0100),
            Report::TimedOut,
            Report::InterpreterMissing,
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn anything_else_is_no_report() {
        for (why, bytes) in
            [("nothing", &[][..]), ("cut short", &[1, 0, 0, 0, 0]), ("an unknown kind", &[10; 12])]
        {
            assert_eq!(Report::decode(bytes), None, "{why}");
        }
    }

    #[test]
    fn a_command_arrives_as_it_was_sent() {
        use SupervisorCommand::{Foreground, Forward, Kill, Terminate};
        for command in [Terminate, Kill, Foreground, Forward(Signal::WINCH), Forward(Signal::STOP)] {
            assert_eq!(SupervisorCommand::decode(command.encode()), Some(command));
        }
        for (why, bytes) in
            [("no command", [b'x', 0]), ("no signal", [b'F', 0]), ("an unknown one", [b'F', 99])]
        {
            assert_eq!(SupervisorCommand::decode(bytes), None, "{why}");
        }
    }
}
