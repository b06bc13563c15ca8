//! Moments, spelled as RFC 3339 in UTC with microseconds.
//!
//! Invariant: every moment from 1970 to 9999 has exactly one spelling, and spellings sort as moments do.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// A moment, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Now, as the machine's clock has it; a clock before 1970 reads as 1970.
    pub fn now() -> Self {
        Self::at(SystemTime::now())
    }

    /// The moment that a file system or a clock gives; before 1970 it reads as 1970.
    pub fn at(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    /// The moment `span` before this one.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Takes `2026-11-15`, `2026-11-15T04:28:00Z`, fractions of a second, and an offset in place of `Z`.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let midnight = parse_date(date)?.checked_mul(DAY * 1_000_000)?;
        if rest.is_empty() {
            return Some(Self(midnight));
        }
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let (clock, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
        let local = midnight.checked_add(parse_clock(clock)?)?;
        match zone.split_at_checked(1)? {
            ("Z" | "z", "") => Some(Self(local)),
            ("+", offset) => local.checked_sub(parse_offset(offset)?).map(Self),
            ("-", offset) => local.checked_add(parse_offset(offset)?).map(Self),
            _ => None,
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let (year, month, day) = date_of(seconds / DAY);
        let clock = seconds % DAY;
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        // Every record has one: the digits are put into their places one by one.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        if year > 9999 {
            return write!(f, "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
        }
        for (number, last) in
            [(year, 3), (month, 6), (day, 9), (hour, 12), (minute, 15), (second, 18), (micros, 25)]
        {
            let mut left = number;
            for place in text.iter_mut().take(last + 1).rev() {
                if left == 0 {
                    break;
                }
                *place = b'0' + (left % 10) as u8;
                left /= 10;
            }
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// Days from 0000-03-01 to 1970-01-01. Years are taken to begin in March: the leap day is then a year's last.
const EPOCH: u64 = 719_468;

/// Year, month and day of a day counted from 1970-01-01.
fn date_of(day: u64) -> (u64, u64, u64) {
    let rest = day + EPOCH;
    let (cycle, rest) = (rest / 146_097, rest % 146_097);
    let century = (rest / 36_524).min(3);
    let rest = rest - century * 36_524;
    let (olympiad, rest) = (rest / 1461, rest % 1461);
    let single = (rest / 365).min(3);
    let of_year = rest - single * 365;
    let year = cycle * 400 + century * 100 + olympiad * 4 + single;
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    if month < 10 { (year, month + 3, of_month) } else { (year + 1, month - 9, of_month) }
}

/// The day of a date, counted from 1970-01-01.
fn day_of(year: u64, month: u64, of_month: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + of_month - 1;
    days.checked_sub(EPOCH)
}

fn parse_date(text: &str) -> Option<u64> {
    let [year, month, day] = numbers(text, '-', [4, 2, 2])?;
    let written = (year, month, day);
    if !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    // A day that the month does not have comes back as another date.
    day_of(year, month, day).filter(|days| date_of(*days) == written)
}

/// Microseconds since midnight.
fn parse_clock(text: &str) -> Option<u64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    if hour > 23
        || minute > 59
        || second > 59
        || fraction.is_empty()
        || !fraction.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let micros: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some((hour * 3600 + minute * 60 + second) * 1_000_000 + micros)
}

fn parse_offset(text: &str) -> Option<u64> {
    let [hours, minutes] = numbers(text, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000_000)
}

/// Exactly `N` numbers of the given widths, between separators.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[u64; N]> {
    let mut out = [0; N];
    let mut parts = text.split(separator);
    for (slot, width) in out.iter_mut().zip(widths) {
        let part =
            parts.next().filter(|part| part.len() == width && part.bytes().all(|b| b.is_ascii_digit()))?;
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_spelled_in_utc_with_microseconds() {
        for (why, micros, want) in [
            ("the beginning", 0, "1970-01-01T00:00:00.000000Z"),
            ("a leap day", 951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            ("the day after a leap day", 951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
            ("the last microsecond of a year", 1_798_761_599_999_999, "2026-12-31T23:59:59.999999Z"),
            ("2100 is no leap year", 4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Timestamp(micros).to_string(), want, "{why}");
        }
    }

    #[test]
    fn what_people_write_is_read() {
        for (why, text, want) in [
            ("a day", "2026-11-15", Some("2026-11-15T00:00:00.000000Z")),
            ("a moment", "2026-11-15T04:28:00Z", Some("2026-11-15T04:28:00.000000Z")),
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
            ("before the beginning", "1969-12-31", None),
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
        fn spelling_and_reading_agree(micros in 0u64..253_402_300_799_999_999) {
            prop_assert_eq!(Timestamp::parse(&Timestamp(micros).to_string()), Some(Timestamp(micros)));
        }

        #[test]
        fn reading_never_panics(text in "\\PC*") {
            let _ = Timestamp::parse(&text);
        }
    }
}
