//! The process between picoclaw and a command: it reaps, forwards and, in the end, leaves nobody behind.
//!
//! Invariant: a keeper ends only after every process below it has ended, unless it is itself killed.

use crate::linux::raw::{call, close, exit, now_ms};
use crate::linux::report::Report;
use crate::linux::script::Keeping;
use crate::linux::spawn::Order;
use crate::linux::tree::Tree;

/// How long SIGTERM may take to work before SIGKILL follows.
const GENTLE_MS: i64 = 2_000;
/// The same for what a command left running after its own end, and for everything when picoclaw is gone.
const LEFTOVER_MS: i64 = 250;
/// How often SIGKILL is repeated while somebody is still being born.
const AGAIN_MS: i64 = 5;
/// How often memory is looked at.
const WATCH_MS: i64 = 50;
/// How often in a row a look may fail before nobody is watched over any more.
const BLIND: u32 = 40;

pub(crate) struct Keeper {
    pub(crate) control: i32,
    pub(crate) main: i32,
    pub(crate) keeping: Keeping,
    pub(crate) memory_watch: u64,
    pub(crate) next_look: i64,
    pub(crate) failed_looks: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// SIGTERM was sent; SIGKILL follows at this time.
    Ending(i64),
}

/// What one look at the children told.
enum Reaped {
    /// The command ended, with this wait status, and somebody is left.
    Main(i32),
    /// The command still runs, or its end was told before.
    Others,
    /// Nobody is left; the command's wait status, if it ended just now.
    Nobody(Option<i32>),
}

impl Keeper {
    /// Stays until nobody is left below.
    pub(crate) fn keep(mut self) -> ! {
        let signals = self.let_go();
        let mut tree = None;
        self.next_look = now_ms() + WATCH_MS;
        let mut phase = Phase::Running;
        let mut ended = None;
        loop {
            match self.reap(phase) {
                Reaped::Nobody(own) => {
                    // One packet for both facts: whoever waits is woken once, and need not wait until the kernel has
                    // taken this process's namespaces apart.
                    Report::Left(own.or(ended).unwrap_or(libc::SIGKILL)).send(self.control);
                    self.stand_back();
                    exit(0);
                }
                Reaped::Main(status) => {
                    Report::Ended(status).send(self.control);
                    ended = Some(status);
                }
                Reaped::Others => {}
            }
            if ended.is_some() && phase == Phase::Running {
                phase = self.end(&mut tree, LEFTOVER_MS);
            }
            if let Phase::Ending(at) = phase
                && now_ms() >= at
            {
                // Stopped first, so that a process cannot be replaced by its child between two passes.
                self.signal(&mut tree, libc::SIGSTOP);
                self.signal(&mut tree, libc::SIGKILL);
                phase = Phase::Ending(now_ms() + AGAIN_MS);
            }
            if phase == Phase::Running
                && self.is_time_to_look()
                && self.private_bytes(&mut tree) > self.memory_watch
            {
                Report::OutOfMemory.send(self.control);
                phase = Phase::Ending(now_ms());
                continue;
            }
            match self.wait(signals, phase) {
                Some(Order::End) if phase == Phase::Running => phase = self.end(&mut tree, GENTLE_MS),
                Some(Order::Orphaned) => phase = self.end(&mut tree, LEFTOVER_MS),
                Some(Order::Kill) => phase = Phase::Ending(now_ms()),
                Some(Order::Forward(signal)) => self.forward(&mut tree, signal),
                Some(Order::End) | None => {}
            }
        }
    }

    /// Takes in everybody who has ended; whether that was the command, and whether anybody is left.
    fn reap(&self, phase: Phase) -> Reaped {
        let mut own = None;
        loop {
            let mut status = 0i32;
            // SAFETY: a live integer for the status; no usage is asked for.
            let waited = unsafe {
                call!(libc::SYS_wait4, -1_i32, &raw mut status, libc::WNOHANG | libc::WUNTRACED, 0)
            };
            match waited {
                Err(libc::ECHILD) => return Reaped::Nobody(own),
                Ok(0) | Err(_) => return own.map_or(Reaped::Others, Reaped::Main),
                Ok(pid) if pid as i32 != self.main => {}
                Ok(_) if !libc::WIFSTOPPED(status) => own = Some(status),
                Ok(_) if phase == Phase::Running => Report::Stopped.send(self.control),
                Ok(_) => {}
            }
        }
    }

    /// Closes every descriptor but the control socket, and collects signals in one more.
    fn let_go(&mut self) -> i32 {
        let all = u64::MAX;
        // SAFETY: integers, and `all` alive across the call that reads it.
        unsafe {
            let _ = call!(libc::SYS_dup3, self.control, CONTROL, libc::O_CLOEXEC);
            self.control = CONTROL;
            if call!(libc::SYS_close_range, 0, CONTROL - 1, 0).is_err() {
                (0..CONTROL).for_each(close);
            }
            let _ = close_from(CONTROL + 1);
            let _ = call!(libc::SYS_prctl, libc::PR_SET_NAME, c"picoclaw-superv".as_ptr(), 0, 0, 0);
            call!(libc::SYS_signalfd4, -1_i32, &raw const all, 8, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
                .unwrap_or(-1) as i32
        }
    }

    fn end(&self, tree: &mut Option<Tree>, grace: i64) -> Phase {
        self.signal(tree, libc::SIGTERM);
        // A stopped process acts on nothing but SIGKILL until it is continued.
        self.signal(tree, libc::SIGCONT);
        Phase::Ending(now_ms() + grace)
    }

    fn signal(&self, tree: &mut Option<Tree>, signal: i32) {
        let everyone = match self.keeping {
            Keeping::Namespace => -1,
            Keeping::Descendants | Keeping::Builder
                if sight(tree).is_some_and(|tree| tree.signal(signal, self.spared(signal))) =>
            {
                return;
            }
            Keeping::Descendants | Keeping::Builder => -self.main,
        };
        // SAFETY: integers only. In a pid namespace -1 means everybody but its first process.
        let _ = unsafe { call!(libc::SYS_kill, everyone, signal) };
    }

    /// Who is not sent this signal.
    fn spared(&self, signal: i32) -> i32 {
        let final_or_job = [libc::SIGKILL, libc::SIGSTOP, libc::SIGCONT].contains(&signal);
        if self.keeping == Keeping::Builder && !final_or_job { self.main } else { 0 }
    }

    /// Hands a signal to the command's group; what is built around a command has its group, and must not hear it.
    fn forward(&self, tree: &mut Option<Tree>, signal: i32) {
        if self.spared(signal) != 0 {
            return self.signal(tree, signal);
        }
        // SAFETY: integers only. The command leads its own group, so this reaches what it runs in the foreground.
        let _ = unsafe { call!(libc::SYS_kill, -self.main, signal) };
    }

    /// Not before a command has had time to take anything: most have ended by then, and looking costs them.
    fn is_time_to_look(&mut self) -> bool {
        let due = self.memory_watch > 0 && now_ms() >= self.next_look;
        if due {
            self.next_look = now_ms() + WATCH_MS;
        }
        due
    }

    /// Everything there is, when it cannot be counted for too long: a limit that nobody watches over is none.
    fn private_bytes(&mut self, tree: &mut Option<Tree>) -> u64 {
        match sight(tree).and_then(Tree::private_pages) {
            Some(pages) => {
                self.failed_looks = 0;
                pages.saturating_mul(4096)
            }
            None => {
                self.failed_looks += 1;
                if self.failed_looks < BLIND { 0 } else { u64::MAX }
            }
        }
    }

    /// Waits for a signal, an order or the time of the next phase.
    fn wait(&mut self, signals: i32, phase: Phase) -> Option<Order> {
        let timeout = match phase {
            Phase::Ending(at) => (at - now_ms()).max(0),
            Phase::Running if self.memory_watch > 0 => (self.next_look - now_ms()).max(0),
            Phase::Running => -1,
        };
        let time = libc::timespec { tv_sec: timeout / 1000, tv_nsec: (timeout % 1000) * 1_000_000 };
        let time = if timeout < 0 { std::ptr::null() } else { &raw const time };
        let mut ready = [
            libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: self.control, events: libc::POLLIN, revents: 0 },
        ];
        // SAFETY: two live pollfds, a timespec that is null or alive, and no signal mask.
        let _ = unsafe { call!(libc::SYS_ppoll, ready.as_mut_ptr(), 2, time, 0, 8) };
        let [signal, control] = ready;
        let from_signal = if signal.revents != 0 { received(signals) } else { None };
        if control.revents != 0 { self.ordered().or(from_signal) } else { from_signal }
    }

    /// Lets whoever waits go first, who may have to share this processor: taking namespaces apart takes a while.
    fn stand_back(&self) {
        let most = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let mut closed = libc::pollfd { fd: self.control, events: 0, revents: 0 };
        // SAFETY: a live pollfd, a live timespec, and no signal mask.
        let _ = unsafe { call!(libc::SYS_ppoll, &raw mut closed, 1, &raw const most, 0, 8) };
    }

    /// Reads one order; a parent that is gone has given its last.
    fn ordered(&mut self) -> Option<Order> {
        let mut order = [0u8; 2];
        // SAFETY: two live bytes, and no address is asked for.
        let read = unsafe {
            call!(libc::SYS_recvfrom, self.control, order.as_mut_ptr(), 2, libc::MSG_DONTWAIT, 0, 0)
        };
        match read {
            Ok(2) => Order::decode(order),
            Err(libc::EAGAIN | libc::EINTR) => None,
            Ok(_) | Err(_) => {
                // Nobody will ever write again, and a closed socket would stay readable.
                close(self.control);
                self.control = -1;
                Some(Order::Orphaned)
            }
        }
    }
}

/// A look at everybody below, with room for it: most keepers never need one.
fn sight(tree: &mut Option<Tree>) -> Option<&mut Tree> {
    if tree.is_none() {
        *tree = Tree::new();
    }
    tree.as_mut()
}

/// Where the control socket is while keeping.
const CONTROL: i32 = 3;

/// Closes every descriptor from `first` on.
fn close_from(first: i32) -> Result<(), i32> {
    // SAFETY: integers only; these descriptors belong to this process alone.
    if unsafe { call!(libc::SYS_close_range, first, u32::MAX, 0) }.is_ok() {
        return Ok(());
    }
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a live rlimit that the kernel fills.
    unsafe { call!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, &raw mut limit) }?;
    let end = i32::try_from(limit.rlim_max.min(1 << 20)).unwrap_or(1 << 20);
    (first..end).for_each(close);
    Ok(())
}

/// Reads one signal; those that ask a program to end, end the tree.
fn received(signals: i32) -> Option<Order> {
    let mut info = [0u8; 128];
    // SAFETY: a signalfd hands out records of 128 bytes, which is what the buffer holds.
    unsafe { call!(libc::SYS_read, signals, info.as_mut_ptr(), info.len()) }.ok()?;
    let signal = i32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
    matches!(signal, libc::SIGTERM | libc::SIGHUP | libc::SIGINT | libc::SIGQUIT).then_some(Order::End)
}
