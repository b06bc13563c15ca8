//! A child and its process group.

use crate::launch::status::Status;
use picoclaw_sys::process_group::Spawned;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// From SIGTERM to SIGKILL.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

/// A child, shared with the threads that wait for it.
#[derive(Debug)]
pub(in crate::launch) struct Child(pub(super) Spawned);

impl Child {
    pub(in crate::launch) fn pid(&self) -> i32 {
        self.0.pid()
    }

    /// How it ended, if it does until then; without a time, whenever it does.
    pub(in crate::launch) fn wait(&self, time: Option<Duration>) -> Option<Status> {
        match self.0.wait(time) {
            Ok(status) => status.map(status_of),
            // A process that cannot be waited for is not left running.
            Err(_) => {
                self.kill();
                Some(Status::Halted)
            }
        }
    }

    /// Ends the group: SIGTERM, two seconds, SIGKILL. Returns at once.
    pub(in crate::launch) fn end(self: &Arc<Self>) {
        self.0.signal(Signal::TERM);
        let child = Arc::clone(self);
        let kill_later = move || {
            if child.wait(Some(TERMINATE_TIMEOUT)).is_none() {
                child.kill();
            }
        };
        if thread::Builder::new().name("end".to_owned()).spawn(kill_later).is_err() {
            self.kill();
        }
    }

    /// Kills every process of the group.
    pub(in crate::launch) fn kill(&self) {
        self.0.signal(Signal::KILL);
    }
}

fn status_of(status: ExitStatus) -> Status {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, Some(signal)) => Status::Signaled(signal),
        (None, None) => Status::Halted,
    }
}
