//! Timestamps of records: RFC 3339 in UTC with microseconds.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A point in time, to the microsecond and not before 1970. Texts sort as the timestamps do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    fn new(time: jiff::Timestamp) -> Self {
        Self(jiff::Timestamp::from_microsecond(time.as_microsecond().max(0)).unwrap_or_default())
    }

    /// The current time of the system clock.
    pub fn now() -> Self {
        Self::at(SystemTime::now())
    }

    /// The time of a clock or a file; before 1970 it reads as 1970.
    pub fn at(time: SystemTime) -> Self {
        Self::new(jiff::Timestamp::try_from(time).unwrap_or_default())
    }

    /// The time `span` before this one.
    pub fn before(self, span: Duration) -> Self {
        Self::new(self.0.checked_sub(span).unwrap_or_default())
    }

    /// Parses a date, which means its midnight in UTC, or a date and time with `Z` or an offset.
    pub fn parse(text: &str) -> Option<Self> {
        let time: jiff::Timestamp = match text.len() {
            10 => text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
            _ => text.parse().ok()?,
        };
        (time >= jiff::Timestamp::UNIX_EPOCH).then(|| Self::new(time))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn micros(micros: i64) -> Timestamp {
        Timestamp(jiff::Timestamp::from_microsecond(micros).unwrap())
    }

    #[test]
    fn timestamps_are_spelled_in_utc_with_microseconds() {
        for (why, time, want) in [
            ("the epoch", 0, "1970-01-01T00:00:00.000000Z"),
            ("a leap day", 951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            ("the day after a leap day", 951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
            ("the last microsecond of a year", 1_798_761_599_999_999, "2026-12-31T23:59:59.999999Z"),
            ("2100 is no leap year", 4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(micros(time).to_string(), want, "{why}");
        }
    }

    #[test]
    fn a_clock_is_cut_to_microseconds_and_to_1970() {
        let late = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_999);
        assert_eq!(Timestamp::at(late), micros(1));
        assert_eq!(Timestamp::at(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), micros(0));
        assert_eq!(micros(5).before(Duration::from_secs(1)), micros(0));
        assert_eq!(micros(5).before(Duration::MAX), micros(0));
    }

    #[test]
    fn what_people_write_is_read() {
        for (why, text, want) in [
            ("a day", "2026-11-15", Some("2026-11-15T00:00:00.000000Z")),
            ("date and time", "2026-11-15T04:28:00Z", Some("2026-11-15T04:28:00.000000Z")),
            ("a fraction", "2026-11-15T04:28:00.5Z", Some("2026-11-15T04:28:00.500000Z")),
            (
                "more digits than are kept",
                "2026-11-15 04:28:00.1234567z",
                Some("2026-11-15T04:28:00.123456Z"),
            ),
            ("east of Greenwich", "2026-11-15T01:00:00+02:00", Some("2026-11-14T23:00:00.000000Z")),
            ("west of Greenwich", "2026-11-15T23:00:00-02:30", Some("2026-11-16T01:30:00.000000Z")),
            ("no zone", "2026-11-15T04:28:00", None),
            ("no such day", "2026-02-29", None),
            ("no such month", "2026-13-01", None),
            ("no such hour", "2026-11-15T24:00:00Z", None),
            ("before the epoch", "1969-12-31", None),
            ("signs are not digits", "+026-11-15", None),
            ("cut inside a character", "2026-11-1é", None),
            ("something after the zone", "2026-11-15T04:28:00Zx", None),
            ("an empty fraction", "2026-11-15T04:28:00.Z", None),
            ("nothing", "", None),
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()).as_deref(), want, "{why}: `{text}`");
        }
    }

    proptest! {
        #[test]
        fn spelling_and_reading_agree(time in 0i64..253_402_207_200_999_999) {
            prop_assert_eq!(Timestamp::parse(&micros(time).to_string()), Some(micros(time)));
        }

        #[test]
        fn reading_never_panics(text in "\\PC*") {
            let _ = Timestamp::parse(&text);
        }
    }
}
