//! Leaving a failing model alone for a while.
//!
//! Invariant: each failure in a row rests the model longer, up to a cap; one success forgets them all.

use super::provider::Class;
use std::time::Duration;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// How long a model rests after its first, second… failure in a row.
const RESTS: [Duration; 4] =
    [MINUTE, MINUTE.saturating_mul(5), MINUTE.saturating_mul(25), MINUTE.saturating_mul(60)];

/// How long after the first sign that there is no money; doubles.
const UNPAID: Duration = MINUTE.saturating_mul(5 * 60);

/// A day: the longest rest, and when old failures are forgotten.
const DAY: Duration = MINUTE.saturating_mul(24 * 60);

/// The failures of one model, in a row.
#[derive(Debug, Default)]
pub(super) struct Cooldown {
    failures: u32,
    last: Option<Instant>,
    until: Option<Instant>,
}

impl Cooldown {
    /// How long the model still rests.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        self.until.and_then(|until| until.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// It failed, and perhaps said when to come back.
    pub(super) fn failed(&mut self, class: Class, retry_after: Option<Duration>, now: Instant) {
        if self.last.is_some_and(|last| now.duration_since(last) > DAY) {
            self.failures = 0;
        }
        let step = usize::try_from(self.failures).unwrap_or(usize::MAX);
        let rest = match class {
            Class::Billing => UNPAID.saturating_mul(1 << self.failures.min(8)).min(DAY),
            _ => RESTS[step.min(RESTS.len() - 1)],
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
            ("failures of any kind", Class::Timeout, None, [1, 5, 25, 60, 60]),
            ("no money rests long", Class::Billing, None, [300, 600, 1200, 1440, 1440]),
            ("the provider asks for longer", Class::RateLimit, Some(7 * MINUTE), [7, 7, 25, 60, 60]),
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
            cooldown.failed(Class::Timeout, None, now);
        }
        let later = now + DAY + MINUTE;
        cooldown.failed(Class::Timeout, None, later);
        assert_eq!(cooldown.rest(later), Some(MINUTE));
    }
}
