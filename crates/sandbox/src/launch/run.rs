//! Runs a child to its end, within its deadline and output limit.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::output_limit::HeadTail;
use crate::launch::platform::{Running, run_with_output};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::Finished;
use crate::os_file::OwnedFd;
use std::time::Duration;

/// How long a tree that was killed may take until its end is seen.
pub(in crate::launch) const KILL_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the kernel may take to end it.
pub(crate) const KERNEL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long output is read after the tree has ended; an unrelated process may hold the pipe.
pub(in crate::launch) const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::launch) enum OutputStream {
    Stdout,
    Stderr,
}

/// Starts a child, feeds its input, collects its output and ends it at its deadline. Returns at
/// most three seconds after the deadline, whatever the child does with its pipes.
pub fn run_to_end(spec: LaunchSpec) -> Result<Finished, LaunchError> {
    run_with_output(spec, &CancelToken::new(), &|_| {})
}

impl Running {
    /// The pipe to its standard input, non-blocking on Linux; `None` when there is none or it was
    /// taken.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.streams.stdin.take()
    }

    /// The pipe from its standard output, likewise.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.streams.stdout.take()
    }

    /// The pipe from its standard error, likewise.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.streams.stderr.take()
    }

    /// Waits for the child's end as [`run_to_end`] does.
    pub fn finish(self) -> Finished {
        self.finish_with_output(&CancelToken::new(), &|_| {})
    }

    /// Waits for the child's end as [`run_with_output`] does.
    pub fn finish_with_output(mut self, cancel: &CancelToken, on_output: &dyn Fn(&[u8])) -> Finished {
        self.collect(cancel, on_output)
    }

    pub(in crate::launch) fn collect(&mut self, cancel: &CancelToken, on_output: &dyn Fn(&[u8])) -> Finished {
        let (mut stdout, mut stderr) = (self.new_output(), self.new_output());
        let status = self.poll_until_exit(cancel, &mut |stream, bytes| {
            on_output(bytes);
            match stream {
                OutputStream::Stdout => stdout.push(bytes),
                OutputStream::Stderr => stderr.push(bytes),
            }
        });
        let (stdout, stderr, limit) = (stdout.take(), stderr.take(), self.reached_limit(status));
        Finished { status, stdout, stderr, limit, duration: self.started.elapsed() }
    }

    pub(in crate::launch) fn new_output(&self) -> HeadTail {
        HeadTail::new(self.output_limit)
    }
}
