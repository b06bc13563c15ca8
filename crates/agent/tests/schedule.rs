//! When jobs run: moments, zones, clocks that jump, and what cannot be parsed.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use jiff::Timestamp;
use picoclaw_agent::schedule::cron::{CronError, Schedule};
use std::time::{Duration, Instant};

fn ms(at: &str) -> i64 {
    at.parse::<Timestamp>().unwrap().as_millisecond()
}

fn told(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap().to_string()
}

/// The next moments, one after the other.
fn coming(schedule: &Schedule, from: &str, count: usize) -> Vec<String> {
    let mut now = ms(from);
    (0..count)
        .map(|_| {
            now = schedule.next(now, Some(now)).unwrap().unwrap();
            told(now)
        })
        .collect()
}

#[test]
fn expressions_are_read_in_their_zone() {
    for (why, expr, tz, from, want) in [
        ("each minute", "* * * * *", "UTC", "2026-11-15T04:28:30Z", "2026-11-15T04:29:00Z"),
        ("not this very minute again", "28 4 * * *", "UTC", "2026-11-15T04:28:00Z", "2026-11-16T04:28:00Z"),
        ("steps", "*/15 * * * *", "UTC", "2026-11-15T04:46:00Z", "2026-11-15T05:00:00Z"),
        ("weekdays by name", "0 9 * * MON-FRI", "UTC", "2026-11-14T00:00:00Z", "2026-11-16T09:00:00Z"),
        (
            "either day of month or weekday",
            "0 0 13 * 5",
            "UTC",
            "2026-11-07T00:00:00Z",
            "2026-11-13T00:00:00Z",
        ),
        ("a leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("east of Greenwich", "0 9 * * *", "Asia/Tokyo", "2026-11-15T04:00:00Z", "2026-11-16T00:00:00Z"),
        ("winter time", "0 9 * * *", "Europe/Berlin", "2026-11-15T00:00:00Z", "2026-11-15T08:00:00Z"),
        ("summer time", "0 9 * * *", "Europe/Berlin", "2026-07-15T00:00:00Z", "2026-07-15T07:00:00Z"),
        ("half an hour off", "0 9 * * *", "Asia/Kolkata", "2026-11-15T00:00:00Z", "2026-11-15T03:30:00Z"),
        ("a word for it", "@daily", "UTC", "2026-11-15T04:28:00Z", "2026-11-16T00:00:00Z"),
    ] {
        let schedule = Schedule::cron(expr, Some(tz)).unwrap();
        assert_eq!(coming(&schedule, from, 1), [want], "{why}: `{expr}` in {tz}");
    }
}

#[test]
fn a_day_with_23_or_25_hours_loses_no_run_and_repeats_none() {
    // Berlin: on 2026-03-29 there is no time from 2:00 to 3:00, on 2026-10-25 there are two.
    for (why, expr, from, want) in [
        (
            "a time that does not exist is run right after the gap, once",
            "30 2 * * *",
            "2026-03-28T12:00:00Z",
            &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"][..],
        ),
        (
            "a time that comes twice is run once",
            "30 2 * * *",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        (
            "what comes each half hour comes each half hour",
            "*/30 * * * *",
            "2026-10-25T00:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"],
        ),
        (
            "also where clocks go forward",
            "*/30 * * * *",
            "2026-03-29T00:30:00Z",
            &["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"],
        ),
    ] {
        let schedule = Schedule::cron(expr, Some("Europe/Berlin")).unwrap();
        assert_eq!(coming(&schedule, from, want.len()), want, "{why}: `{expr}`");
    }
}

#[test]
fn a_clock_that_goes_back_repeats_nothing_and_stalls_nothing() {
    let daily = Schedule::cron("0 3 * * *", Some("UTC")).unwrap();
    let ran = ms("2026-11-15T03:00:00Z");
    let next = |now: &str| told(daily.next(ms(now), Some(ran)).unwrap().unwrap());
    assert_eq!(next("2026-11-15T02:30:00Z"), "2026-11-16T03:00:00Z", "half an hour back: it ran already");
    assert_eq!(
        next("2020-01-01T00:00:00Z"),
        "2020-01-01T03:00:00Z",
        "years back: the clock was wrong before"
    );
    let hourly = Schedule::every(3600).unwrap();
    assert_eq!(
        told(hourly.next(ms("2020-01-01T00:00:00Z"), Some(ran)).unwrap().unwrap()),
        "2020-01-01T01:00:00Z"
    );
}

#[test]
fn once_is_once() {
    let now = ms("2026-11-15T04:28:00Z");
    let schedule = Schedule::after(90, now).unwrap();
    assert_eq!(schedule.next(now, None).unwrap().map(told).as_deref(), Some("2026-11-15T04:29:30Z"));
    assert_eq!(schedule.next(now + 90_000, None).unwrap(), None, "over");
}

#[test]
fn what_is_no_schedule_is_said_at_once() {
    for (why, expr, tz) in [
        ("nothing", "", ""),
        ("too few fields", "* * * *", ""),
        ("seconds", "* * * * * *", ""),
        ("out of range", "61 * * * *", ""),
        ("backwards", "30-10 * * * *", ""),
        ("no number", "a b c d e", ""),
        ("a step of nothing", "*/0 * * * *", ""),
        ("letters of another script", "* * * * ٣", ""),
        ("no such word", "@sometimes", ""),
        ("no such zone", "* * * * *", "Mars/Olympus"),
        ("a path for a zone", "* * * * *", "../../../etc/passwd"),
        ("an absolute one", "* * * * *", "/etc/localtime"),
        ("an escape", "* * * * *", "\u{1b}[2J"),
    ] {
        let wrong = Schedule::cron(expr, Some(tz));
        assert!(matches!(wrong, Err(CronError::Expression { .. } | CronError::Zone(_))), "{why}: {wrong:?}");
        assert!(!wrong.unwrap_err().to_string().contains('\u{1b}'), "{why}");
    }
    for seconds in [0, u64::MAX, 1 << 62] {
        assert!(Schedule::every(seconds).is_err() && Schedule::after(seconds, 0).is_err(), "{seconds}");
    }
}

#[test]
fn a_schedule_that_never_comes_is_found_out_quickly() {
    for expr in ["0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        let began = Instant::now();
        let never = Schedule::cron(expr, Some("UTC")).unwrap().next(ms("2026-11-15T00:00:00Z"), None);
        assert!(matches!(never, Err(CronError::Never)), "`{expr}`: {never:?}");
        // Without a bound it would count on for centuries.
        assert!(began.elapsed() < Duration::from_secs(20), "`{expr}` took {:?}", began.elapsed());
    }
}
