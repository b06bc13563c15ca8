//! Waiting for descriptors until a moment.

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use std::time::Instant;

/// Waits until one of `fds` is ready, until `until` at most; whether one is. A signal does not end
/// the wait, and nothing but the moment itself does: ppoll(2) takes nanoseconds.
pub fn poll_until(fds: &mut [PollFd<'_>], until: Option<Instant>) -> Result<bool, Errno> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // A moment that no time of the kernel reaches is none.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            polled => return polled.map(|ready| ready > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::PollFlags;
    use rustix::pipe::pipe;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    #[test]
    fn a_wait_ends_when_something_is_ready_and_not_before_its_moment() {
        let (reader, writer) = pipe().unwrap();
        let wait = |fd: &OwnedFd, flags, until| poll_until(&mut [PollFd::new(fd, flags)], Some(until));
        for micros in [0, 1, 300, 1_500, 20_000] {
            let until = Instant::now() + Duration::from_micros(micros);
            assert_eq!(wait(&reader, PollFlags::IN, until), Ok(false));
            assert!(Instant::now() >= until, "{micros} µs");
        }
        assert_eq!(wait(&writer, PollFlags::OUT, Instant::now()), Ok(true), "no time is needed");
        drop(writer);
        let far = Instant::now() + Duration::from_secs(600);
        assert_eq!(wait(&reader, PollFlags::IN, far), Ok(true), "an end is an event");
    }
}
