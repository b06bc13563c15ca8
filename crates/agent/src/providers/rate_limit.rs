//! The limit of requests per minute (`rpm`): a token bucket.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A token bucket of requests.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Requests a minute; zero is no limit.
    rpm: u64,
    left: Mutex<Option<(f64, Instant)>>,
}

impl RateLimit {
    /// A full bucket.
    pub(super) fn new(rpm: u64) -> Self {
        Self { rpm, left: Mutex::new(None) }
    }

    /// Takes one token; the error is the wait for the next.
    pub(super) fn take(&self, now: Instant) -> Result<(), Duration> {
        if self.rpm == 0 {
            return Ok(());
        }
        let most = self.rpm as f64;
        let each_second = most / 60.0;
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, since) = left.unwrap_or((most, now));
        let filled = (before + now.duration_since(since).as_secs_f64() * each_second).min(most);
        if filled < 1.0 {
            *left = Some((filled, now));
            return Err(Duration::from_secs_f64((1.0 - filled) / each_second) + Duration::from_millis(1));
        }
        *left = Some((filled - 1.0, now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_kept_and_fills_up_again() {
        let (rate, now) = (RateLimit::new(2), Instant::now());
        assert_eq!((rate.take(now), rate.take(now)), (Ok(()), Ok(())), "two a minute");
        let wait = rate.take(now).unwrap_err();
        assert!((29..=31).contains(&wait.as_secs()), "half a minute each: {wait:?}");
        assert_eq!(rate.take(now + wait), Ok(()), "and then one more");
        assert!(rate.take(now + wait).is_err(), "but not two");
        let free = RateLimit::new(0);
        assert!((0..1000).all(|_| free.take(now).is_ok()), "zero is no limit");
    }
}
