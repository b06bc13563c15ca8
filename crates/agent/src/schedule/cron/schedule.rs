//! When a job runs. Pure: the time is passed in.
//!
//! Expressions are read in the zone that the job names, else in the system's. A time that does not
//! exist because clocks go forward runs at the first moment after the gap; a fixed time that exists
//! twice runs once.

use super::error::CronError;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The longest expression.
const MAX_EXPRESSION_BYTES: usize = 256;

/// The longest interval or delay: ten years.
pub(super) const MAX_DELAY_MS: i64 = 10 * 366 * 86_400_000;

/// The last run counts if the clock was set back by no more than this; beyond, the clock was wrong
/// before.
const MAX_SET_BACK_MS: i64 = 25 * 3_600_000;

/// The kind of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleKind {
    /// Once.
    At,
    /// At a fixed interval.
    Every,
    /// At the times of an expression.
    Cron,
}

/// When a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Which of the other fields counts.
    pub kind: ScheduleKind,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// Milliseconds between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<i64>,
    /// A cron expression of five fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<String>,
    /// A time zone of the IANA database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
}

impl Schedule {
    /// Once, `seconds` after `now`.
    pub fn after(seconds: u64, now_ms: i64) -> Result<Self, CronError> {
        let at_ms = Some(now_ms.saturating_add(millis(seconds)?));
        Ok(Self { kind: ScheduleKind::At, at_ms, every_ms: None, expr: None, tz: None })
    }

    /// Every so many seconds.
    pub fn every(seconds: u64) -> Result<Self, CronError> {
        let every_ms = Some(millis(seconds)?);
        Ok(Self { kind: ScheduleKind::Every, at_ms: None, every_ms, expr: None, tz: None })
    }

    /// At the times of an expression.
    pub fn cron(expr: &str, tz: Option<&str>) -> Result<Self, CronError> {
        parse(expr)?;
        zone(tz)?;
        let tz = tz.filter(|tz| !tz.is_empty()).map(str::to_owned);
        Ok(Self {
            kind: ScheduleKind::Cron,
            at_ms: None,
            every_ms: None,
            expr: Some(expr.trim().to_owned()),
            tz,
        })
    }

    /// The next time after `now`. A run at `last` is not repeated because the clock was set back a
    /// little.
    pub fn next(&self, now_ms: i64, last_ms: Option<i64>) -> Result<Option<i64>, CronError> {
        match self.kind {
            ScheduleKind::At => Ok(self.at_ms.filter(|at| *at > now_ms)),
            ScheduleKind::Every => {
                let every = self.every_ms.filter(|every| (1..=MAX_DELAY_MS).contains(every));
                Ok(Some(now_ms.saturating_add(every.ok_or(CronError::Never)?)))
            }
            ScheduleKind::Cron => {
                let cron = parse(self.expr.as_deref().unwrap_or_default())?;
                let ran = last_ms.filter(|last| (0..=MAX_SET_BACK_MS).contains(&(last - now_ms)));
                let from =
                    Timestamp::from_millisecond(ran.unwrap_or(now_ms)).map_err(|_| CronError::Never)?;
                let from = from.to_zoned(zone(self.tz.as_deref())?);
                let next = cron.find_next_occurrence(&from, false).map_err(|_| CronError::Never)?;
                Ok(Some(next.timestamp().as_millisecond()).filter(|next| *next > now_ms))
            }
        }
    }

    /// A description for a list.
    pub fn describe(&self) -> String {
        match self.kind {
            ScheduleKind::At => {
                let at = self.at_ms.and_then(|at| Timestamp::from_millisecond(at).ok());
                at.map_or_else(|| "once".to_owned(), |at| format!("once at {at:.0}"))
            }
            ScheduleKind::Every => format!("every {}s", self.every_ms.unwrap_or_default() / 1000),
            ScheduleKind::Cron => {
                let zone = self.tz.as_deref().map(|tz| format!(" ({tz})")).unwrap_or_default();
                format!("{}{zone}", self.expr.as_deref().unwrap_or_default())
            }
        }
    }
}

fn millis(seconds: u64) -> Result<i64, CronError> {
    let millis = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000));
    millis.filter(|millis| (1000..=MAX_DELAY_MS).contains(millis)).ok_or_else(|| {
        CronError::Invalid("a time in seconds must be at least 1 and at most ten years".to_owned())
    })
}

fn parse(expr: &str) -> Result<Cron, CronError> {
    let wrong = |why: String| CronError::Expression { expr: expr.to_owned(), why };
    if expr.len() > MAX_EXPRESSION_BYTES || !expr.is_ascii() {
        return Err(wrong("it is too long, or holds what no expression holds".to_owned()));
    }
    let fields = expr.split_whitespace().count();
    if fields != 5 && !expr.trim().starts_with('@') {
        return Err(wrong(format!("it has {fields} fields")));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(expr).map_err(|why| wrong(why.to_string()))
}

fn zone(name: Option<&str>) -> Result<TimeZone, CronError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(TimeZone::system()) };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-/".contains(&byte);
    let known = || TimeZone::get(name).ok();
    // Names are looked up in a directory: no dots, no leading slash.
    let fits = name.len() <= 64 && name.bytes().all(plain) && !name.starts_with('/');
    Some(()).filter(|()| fits).and_then(|()| known()).ok_or_else(|| CronError::Zone(name.to_owned()))
}
