//! A child and its job.

use crate::launch::status::Status;
use picoclaw_sys::windows::Spawned;
use std::time::Duration;

/// The exit code of processes that this program ended: what a shell gives for SIGKILL.
const ENDED: u32 = 137;

/// A child and its job, shared with the threads that wait for it.
#[derive(Debug)]
pub(in crate::launch) struct Child(pub(super) Spawned);

impl Child {
    pub(in crate::launch) fn pid(&self) -> i32 {
        self.0.pid.cast_signed()
    }

    /// How it ended, if it does until then; without a time, whenever it does.
    pub(in crate::launch) fn wait(&self, time: Option<Duration>) -> Option<Status> {
        match self.0.wait(time) {
            Ok(code) => code.map(|code| Status::Exited(code.cast_signed())),
            // A process that cannot be waited for is not left running.
            Err(_) => {
                self.kill();
                Some(Status::Halted)
            }
        }
    }

    /// Ends every process of the job: there is no signal that asks for it.
    pub(in crate::launch) fn end(&self) {
        self.kill();
    }

    /// Ends every process of the job.
    pub(in crate::launch) fn kill(&self) {
        // It fails where the job has ended; closing its last handle ends it in any case.
        let _ = self.0.job().terminate(ENDED);
    }
}
