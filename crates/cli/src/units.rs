//! Sizes and durations as people write and read them. Ambiguous texts are errors.

use anyhow::{Context, Result, bail};
use std::time::Duration;

/// In bytes, this still fits a 64-bit number.
const MAX_MEBIBYTES: u64 = 1 << 40;

/// `512M`, `2G`, `2048` (MiB): a size in MiB.
pub(crate) fn parse_mebibytes(text: &str) -> Result<u64> {
    let (digits, unit) = split_unit(text);
    let number = digits.parse::<u64>().ok();
    let size = match unit.to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mib" => number,
        "g" | "gb" | "gib" => number.map(|number| number.saturating_mul(1024)),
        _ => None,
    };
    match size {
        None => bail!("`{text}` is not a size; `512M` and `2G` are"),
        Some(MAX_MEBIBYTES..) => bail!("`{text}` is too large"),
        Some(size) => Ok(size),
    }
}

/// `30`, `30s`, `500ms`, `5m`, `1h`: a duration.
pub(crate) fn parse_duration(text: &str) -> Result<Duration> {
    let (digits, unit) = split_unit(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => 0.0,
    };
    let time =
        digits.parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number * factor).ok());
    time.filter(|time| !time.is_zero()).with_context(|| format!("`{text}` is not a time; `30s` and `5m` are"))
}

/// A running time, in whole seconds.
pub(crate) fn format_seconds(time: Duration) -> String {
    match time.as_secs() {
        short @ 0..60 => format!("{short} s"),
        long => format!("{} min {} s", long / 60, long % 60),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_as_people_write_them() {
        for (text, want) in [
            ("512M", Some(512)),
            ("2G", Some(2048)),
            ("64", Some(64)),
            ("1T", None),
            ("", None),
            ("-1", None),
            ("17592186044416M", None),
            ("99999999999999999999G", None),
            ("18446744073709551615G", None),
        ] {
            assert_eq!(parse_mebibytes(text).ok(), want, "{text}");
        }
        for (text, want) in [
            ("30", Some(30_000)),
            ("1.5s", Some(1_500)),
            ("500ms", Some(500)),
            ("5m", Some(300_000)),
            ("0", None),
            ("x", None),
            ("5d", None),
            ("-5", None),
        ] {
            assert_eq!(parse_duration(text).ok().map(|time| time.as_millis()), want, "{text}");
        }
    }
}
