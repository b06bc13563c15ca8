//! Runs a child to its end, within its deadline and output limit.

use crate::launch::cancel::CancelToken;
use crate::launch::error::LaunchError;
use crate::launch::platform::{Running, run_with_output};
use crate::launch::spec::LaunchSpec;
use crate::launch::status::Finished;

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::launch) enum OutputStream {
    Stdout,
    Stderr,
}

/// Starts a child, feeds its input, collects its output and ends it at its deadline. Returns at most three seconds after
/// the deadline, whatever the child does with its pipes.
pub fn run_to_end(spec: LaunchSpec) -> Result<Finished, LaunchError> {
    run_with_output(spec, &CancelToken::new(), &|_| {})
}

impl Running {
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
}
