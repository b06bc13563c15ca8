//! Days and times as notes and instructions spell them.
//!
//! Invariant: times are UTC, and say so.

use picoclaw_sandbox::ledger::Timestamp;
use std::time::Duration;

/// One day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// `2026-11-15 04:28 (Sunday)`.
pub(super) fn moment(now: Timestamp) -> String {
    let text = now.to_string();
    let (date, rest) = text.split_at_checked(10).unwrap_or((&text, ""));
    format!("{date} {} ({})", rest.get(1..6).unwrap_or_default(), weekday(date))
}

/// `202611/20261115`.
pub(super) fn day_path(day: Timestamp) -> String {
    let digits: String = day.to_string().chars().take(10).filter(char::is_ascii_digit).collect();
    format!("{}/{digits}", digits.get(..6).unwrap_or_default())
}

fn weekday(date: &str) -> &'static str {
    const DAYS: [&str; 7] = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    let mut parts = date.split('-').filter_map(|part| part.parse::<usize>().ok());
    let (year, month, day) =
        (parts.next().unwrap_or(1970), parts.next().unwrap_or(1), parts.next().unwrap_or(1));
    // Zeller: a year begins in March, so that the leap day is its last.
    let (year, month) = if month < 3 { (year.saturating_sub(1), month + 12) } else { (year, month) };
    DAYS[(day + 13 * (month + 1) / 5 + year + year / 4 + 6 * (year / 100) + year / 400) % 7]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_spelled_with_its_weekday() {
        for (at, want, path) in [
            ("2026-11-15T04:28:59Z", "2026-11-15 04:28 (Sunday)", "202611/20261115"),
            ("2024-02-29T00:00:00Z", "2024-02-29 00:00 (Thursday)", "202402/20240229"),
            ("1970-01-01T00:00:00Z", "1970-01-01 00:00 (Thursday)", "197001/19700101"),
            ("2000-03-01T12:00:00Z", "2000-03-01 12:00 (Wednesday)", "200003/20000301"),
        ] {
            let at = Timestamp::parse(at).unwrap();
            assert_eq!((moment(at).as_str(), day_path(at).as_str()), (want, path));
        }
    }
}
