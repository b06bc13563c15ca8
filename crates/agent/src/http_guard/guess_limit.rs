//! Limits wrong tokens by address. Only guesses are refused: a token that cannot be guessed is
//! accepted meanwhile, so that a program on this machine cannot lock its user out.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tokens that an address may send at once.
const BURST: u32 = 10;

/// How long it takes until it may send one more.
const REFILL_INTERVAL: Duration = Duration::from_secs(6);

/// Addresses that are remembered.
const MAX_ADDRESSES: usize = 4096;

/// The wrong tokens of each address.
#[derive(Default)]
pub(crate) struct GuessLimit(Mutex<HashMap<IpAddr, Guesses>>);

#[derive(Clone, Copy)]
struct Guesses {
    /// How many were sent and not yet forgiven.
    count: u32,
    /// Since when the next one is being forgiven.
    since: Instant,
}

impl Guesses {
    fn at(self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.since).as_secs() / REFILL_INTERVAL.as_secs();
        let forgiven = u32::try_from(passed).unwrap_or(u32::MAX).min(self.count);
        Self { count: self.count - forgiven, since: self.since + REFILL_INTERVAL * forgiven }
    }
}

impl GuessLimit {
    /// How long an address has to wait before another guess is looked at; `None` if it need not.
    pub(crate) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let guesses = self.guesses().get(&network(address)).copied()?.at(now);
        let wait = REFILL_INTERVAL.saturating_sub(now.saturating_duration_since(guesses.since));
        (guesses.count >= BURST).then_some(wait)
    }

    /// Counts a wrong token.
    pub(crate) fn count(&self, address: IpAddr, now: Instant) {
        let mut guesses = self.guesses();
        if guesses.len() >= MAX_ADDRESSES {
            guesses.retain(|_, one| one.at(now).count > 0);
        }
        if guesses.len() >= MAX_ADDRESSES {
            let oldest = guesses.iter().min_by_key(|(_, one)| one.since).map(|(address, _)| *address);
            oldest.map(|address| guesses.remove(&address));
        }
        let entry = guesses.entry(network(address)).or_insert(Guesses { count: 0, since: now });
        *entry = entry.at(now);
        if entry.count == 0 {
            entry.since = now;
        }
        entry.count += 1;
    }

    fn guesses(&self) -> MutexGuard<'_, HashMap<IpAddr, Guesses>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address, or the /64 that one IPv6 host usually has for itself.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) if address.is_loopback() => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_counted_by_address_and_forgiven_one_by_one() {
        let (limit, began) = (GuessLimit::default(), Instant::now());
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for _ in 0..BURST {
            assert_eq!(limit.wait(ip("192.0.2.1"), began), None);
            limit.count(ip("192.0.2.1"), began);
        }
        assert_eq!(limit.wait(ip("192.0.2.1"), began), Some(REFILL_INTERVAL));
        assert_eq!(limit.wait(ip("::ffff:192.0.2.1"), began), Some(REFILL_INTERVAL), "the same host");
        assert_eq!(limit.wait(ip("192.0.2.2"), began), None, "others are not affected");
        let later = began + REFILL_INTERVAL;
        assert_eq!(limit.wait(ip("192.0.2.1"), later), None);
        limit.count(ip("192.0.2.1"), later);
        assert_eq!(limit.wait(ip("192.0.2.1"), later + Duration::from_secs(1)), Some(Duration::from_secs(5)));
        for host in 0..BURST {
            limit.count(ip(&format!("2001:db8::{host:x}")), began);
        }
        assert!(limit.wait(ip("2001:db8::ffff"), began).is_some(), "one /64");
        assert!(limit.wait(ip("2001:db8:0:1::1"), began).is_none(), "another");
        for host in 0..10_000u32 {
            limit.count(Ipv6Addr::from_bits(u128::from(host) << 64).into(), began);
        }
        assert!(limit.guesses().len() <= MAX_ADDRESSES);
    }
}
