//! Cooldowns: a failing model is not asked for a while, longer after each failure in a row.

use super::provider::ErrorClass;
use std::time::Duration;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// The cooldown after the first, second … failure in a row.
const COOLDOWNS: [Duration; 4] =
    [MINUTE, MINUTE.saturating_mul(5), MINUTE.saturating_mul(25), MINUTE.saturating_mul(60)];

/// The first cooldown of an account without credit; doubles each time.
const BILLING_COOLDOWN: Duration = MINUTE.saturating_mul(5 * 60);

/// The longest cooldown, and the age at which failures are forgotten.
const DAY: Duration = MINUTE.saturating_mul(24 * 60);

/// The failures of one model, in a row.
#[derive(Debug, Default)]
pub(super) struct Cooldown {
    failures: u32,
    last: Option<Instant>,
    until: Option<Instant>,
}

impl Cooldown {
    /// How long the model still cools down.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        self.until.and_then(|until| until.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// It failed; `retry_after` is the wait that the provider asks for.
    pub(super) fn failed(&mut self, class: ErrorClass, retry_after: Option<Duration>, now: Instant) {
        if self.last.is_some_and(|last| now.duration_since(last) > DAY) {
            self.failures = 0;
        }
        let step = usize::try_from(self.failures).unwrap_or(usize::MAX);
        let rest = match class {
            ErrorClass::Billing => BILLING_COOLDOWN.saturating_mul(1 << self.failures.min(8)).min(DAY),
            _ => COOLDOWNS[step.min(COOLDOWNS.len() - 1)],
        };
        self.failures = self.failures.saturating_add(1);
        self.last = Some(now);
        self.until = now.checked_add(rest.max(retry_after.unwrap_or_default()).min(DAY));
    }

    /// It answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_with_each_failure_and_end_with_a_success() {
        let now = Instant::now();
        for (why, class, said, want) in [
            ("failures of any kind", ErrorClass::Timeout, None, [1, 5, 25, 60, 60]),
            ("no money rests long", ErrorClass::Billing, None, [300, 600, 1200, 1440, 1440]),
            ("the provider asks for longer", ErrorClass::RateLimit, Some(7 * MINUTE), [7, 7, 25, 60, 60]),
        ] {
            let mut cooldown = Cooldown::default();
            for minutes in want {
                cooldown.failed(class, said, now);
                assert_eq!(cooldown.rest(now), Some(MINUTE * minutes), "{why}");
            }
            assert_eq!(cooldown.rest(now + 2 * DAY), None, "{why}: over");
            cooldown.answered();
            assert_eq!(cooldown.rest(now), None, "{why}: forgotten");
        }
    }

    #[test]
    fn what_happened_yesterday_is_forgotten() {
        let (mut cooldown, now) = (Cooldown::default(), Instant::now());
        for _ in 0..3 {
            cooldown.failed(ErrorClass::Timeout, None, now);
        }
        let later = now + DAY + MINUTE;
        cooldown.failed(ErrorClass::Timeout, None, later);
        assert_eq!(cooldown.rest(later), Some(MINUTE));
    }
}
