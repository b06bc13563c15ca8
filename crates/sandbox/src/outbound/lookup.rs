//! Looking a host up, without waiting longer than anybody wants to.
//!
//! The system's resolver cannot be interrupted, so it works on a thread of its own, which is left alone when
//! the answer comes too late. So many at once, and no more.
//!
//! Invariant: one question, one answer; nobody asks the same resolver twice for one connection.

use super::bound::{Bound, Stopped};
use picoclaw_policy::network::Resolution;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

/// Look-ups that may be under way at once, those included that nobody waits for any more.
const MOST_AT_ONCE: usize = 16;

/// Addresses of one host that are looked at; the rest is never tried.
const MOST_ADDRESSES: usize = 16;

/// Turns names into addresses.
pub trait Resolver: Send + Sync {
    /// All addresses of `host`; it may take its time.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostResolver;

impl Resolver for HostResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|found| found.ip()).collect())
    }
}

/// A resolver that is not asked too much at once.
#[derive(Clone)]
pub(super) struct Lookup {
    resolver: Arc<dyn Resolver>,
    under_way: Arc<AtomicUsize>,
}

impl Lookup {
    pub(super) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, under_way: Arc::default() }
    }

    /// Looks `host` up once.
    pub(super) fn resolve(&self, host: &str, bound: &Bound) -> Result<Resolution, Stopped> {
        let Some(turn) = Turn::take(&self.under_way) else {
            return Ok(Resolution::Failed("too many look-ups are under way".to_owned()));
        };
        let (tell, hear) = mpsc::channel();
        let (resolver, name) = (Arc::clone(&self.resolver), host.to_owned());
        let started = thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            // Nobody may be left to hear it.
            let _ = tell.send(resolver.resolve(&name));
            drop(turn);
        });
        if let Err(why) = started {
            return Ok(Resolution::Failed(why.to_string()));
        }
        loop {
            match hear.recv_timeout(bound.slice()?) {
                Ok(Ok(found)) => return Ok(found_all(found)),
                Ok(Err(why)) => return Ok(Resolution::Failed(why.to_string())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Resolution::Failed("the resolver gave up".to_owned()));
                }
            }
        }
    }
}

fn found_all(found: Vec<IpAddr>) -> Resolution {
    let mut addresses = Vec::new();
    for ip in found {
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
        if addresses.len() == MOST_ADDRESSES {
            break;
        }
    }
    if addresses.is_empty() {
        return Resolution::Failed("it has no address".to_owned());
    }
    Resolution::Addresses(addresses)
}

/// One of the look-ups that may be under way.
struct Turn(Arc<AtomicUsize>);

impl Turn {
    fn take(under_way: &Arc<AtomicUsize>) -> Option<Self> {
        let one_more = |n: usize| (n < MOST_AT_ONCE).then_some(n + 1);
        under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(Self(Arc::clone(under_way)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::CancelToken;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    /// Answers when the other end of the channel is dropped.
    struct Stuck(Mutex<mpsc::Receiver<()>>);

    impl Resolver for Stuck {
        fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            let _ = self.0.lock().unwrap().recv();
            Err(io::Error::other("late"))
        }
    }

    #[test]
    fn a_resolver_that_never_answers_is_not_waited_for() {
        let (release, stuck) = mpsc::channel();
        let lookup = Lookup::new(Arc::new(Stuck(Mutex::new(stuck))));
        let began = Instant::now();
        let soon = Bound::new(Duration::from_millis(50), &CancelToken::new());
        assert_eq!(lookup.resolve("a.example", &soon), Err(Stopped::Deadline));
        let halt = CancelToken::new();
        halt.cancel();
        let halted = Bound::new(Duration::from_secs(60), &halt);
        assert_eq!(lookup.resolve("a.example", &halted), Err(Stopped::Halted));
        for _ in 2..MOST_AT_ONCE {
            let soon = Bound::new(Duration::from_millis(1), &CancelToken::new());
            assert_eq!(lookup.resolve("a.example", &soon), Err(Stopped::Deadline));
        }
        let patient = Bound::new(Duration::from_secs(60), &CancelToken::new());
        let busy = lookup.resolve("a.example", &patient);
        assert_eq!(busy, Ok(Resolution::Failed("too many look-ups are under way".to_owned())));
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        drop(release);
    }

    #[test]
    fn a_host_with_a_thousand_addresses_is_tried_at_a_few() {
        let many: Vec<IpAddr> = (0..1000_u32).map(|n| IpAddr::V4((0x0808_0000 + n / 2).into())).collect();
        let Resolution::Addresses(kept) = found_all(many) else { panic!("none") };
        assert_eq!(kept.len(), MOST_ADDRESSES);
        assert!(kept.is_sorted_by(|a, b| a < b), "each once, in order");
    }
}
