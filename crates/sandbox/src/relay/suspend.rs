//! Suspending the child and ourselves together, and going on together.
//!
//! A child on a terminal of its own has nobody above it who could continue it, so the kernel drops the stop that its
//! suspend key would send. The relay then stops both, unless the child keeps jobs itself, as a shell does.
//!
//! Invariant: whatever was stopped here is continued here.

use crate::launch::Running;
use picoclaw_sys::linux::stop_self;
use rustix::process::Pid;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetsid};
use std::os::fd::BorrowedFd;

/// Control-Z.
pub(super) const KEY: u8 = 0x1a;

const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;
const SIGTSTP: u32 = 20;

/// Stops the child, then this process; continues both. Around the stop the person's terminal is `given` back.
pub(super) fn whole(running: &Running, given: impl Fn(), taken: impl Fn()) {
    running.signal(SIGSTOP);
    given();
    stop_self();
    taken();
    let _gone = running.resize(super::window_size());
    running.signal(SIGCONT);
}

/// Whether the suspend key is for us: the program in front is the one that was started, it wants its keys to mean
/// signals, and it does nothing about this signal itself.
pub(super) fn is_ours(terminal: BorrowedFd<'_>) -> bool {
    let wants_signals = tcgetattr(terminal).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ISIG));
    let (Ok(front), Ok(leader)) = (tcgetpgrp(terminal), tcgetsid(terminal)) else { return false };
    wants_signals && front == leader && !handles_stop(leader)
}

/// Whether a process catches or ignores SIGTSTP; one that cannot be asked counts as doing so.
fn handles_stop(process: Pid) -> bool {
    let path = format!("/proc/{}/status", process.as_raw_nonzero());
    let Ok(status) = std::fs::File::open(path).and_then(std::io::read_to_string) else { return true };
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(u64::MAX)
    };
    (mask("SigIgn:") | mask("SigCgt:")) & (1 << (SIGTSTP - 1)) != 0
}
