//! Answers a seccomp filter that asks the supervisor.
//!
//! A filter asks about calls that set the priority of another thread: it cannot know which numbers
//! are threads of the caller. Their numbers are arguments in registers, which do not change while
//! the supervisor looks.

use crate::linux::raw_syscall::syscall;
use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Result;
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};

const RECEIVE: u32 = 0xc050_2100;
const SEND: u32 = 0xc018_2101;
/// The kernel makes the call.
const CONTINUE: u32 = 1;

#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction_pointer: u64,
    arguments: [u64; 6],
}

#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// Answers one call that waits: it is made if it names a thread of the caller's own process, and
/// fails with EPERM otherwise.
pub(crate) fn answer(listener: BorrowedFd<'_>) {
    let mut asked = Notification::default();
    // SAFETY: a live structure of the size that the request's number contains, zeroed as required.
    let received = unsafe { syscall!(libc::SYS_ioctl, listener.as_raw_fd(), RECEIVE, &raw mut asked) };
    // A caller that was killed meanwhile needs no answer.
    if received.is_err() {
        return;
    }
    let refuse = || send(listener, &Response { id: asked.id, value: 0, error: -libc::EPERM, flags: 0 });
    if !is_thread_of(asked.pid, target(&asked)) {
        let _ = refuse();
        return;
    }
    let permitted = send(listener, &Response { id: asked.id, value: 0, error: 0, flags: CONTINUE });
    // Kernels before 5.5 do not know the flag.
    if permitted.is_err() {
        let _ = refuse();
    }
}

fn send(listener: BorrowedFd<'_>, response: &Response) -> Result<()> {
    // SAFETY: a live structure of the size that the request's number contains.
    unsafe { syscall!(libc::SYS_ioctl, listener.as_raw_fd(), SEND, &raw const *response) }.map(drop)
}

/// The thread that the call names: `setpriority` and `ioprio_set` name it second, the scheduler's
/// calls first.
fn target(asked: &Notification) -> i32 {
    let [first, second, ..] = asked.arguments;
    match i64::from(asked.number) {
        libc::SYS_setpriority | libc::SYS_ioprio_set => second as i32,
        _ => first as i32,
    }
}

/// Whether both are threads of one process.
fn is_thread_of(caller: u32, target: i32) -> bool {
    let mut buffer = [0u8; 64];
    let mut rest = buffer.as_mut_slice();
    target > 0
        && write!(rest, "/proc/{caller}/task/{target}").is_ok()
        && CStr::from_bytes_until_nul(&buffer).is_ok_and(|path| statat(CWD, path, AtFlags::empty()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_that_the_requests_name() {
        assert_eq!((size_of::<Notification>(), size_of::<Response>()), (0x50, 0x18));
    }

    #[test]
    fn a_thread_belongs_to_its_process_alone() {
        let own = std::process::id();
        let thread = rustix::thread::gettid().as_raw_pid();
        assert!(is_thread_of(own, own as i32) && is_thread_of(own, thread));
        for stranger in [0, -1, 1, std::os::unix::process::parent_id() as i32] {
            assert!(!is_thread_of(own, stranger), "{stranger}");
        }
    }
}
