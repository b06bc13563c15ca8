//! Sizes and times as people write them.
//!
//! Invariant: a text that could mean two things is an error.

use anyhow::{Context, Result, bail};
use std::time::Duration;

/// `512M`, `2G`, `2048` (MiB): a size in MiB.
pub(crate) fn mebibytes(text: &str) -> Result<u64> {
    let (digits, unit) = split(text);
    let number: u64 =
        digits.parse().with_context(|| format!("`{text}` is not a size; `512M` and `2G` are"))?;
    match unit.to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mib" => Ok(number),
        "g" | "gb" | "gib" => number.checked_mul(1024).with_context(|| format!("`{text}` is too large")),
        _ => bail!("`{text}` is not a size; `512M` and `2G` are"),
    }
}

/// `30`, `30s`, `5m`, `1h`: a time.
pub(crate) fn duration(text: &str) -> Result<Duration> {
    let (digits, unit) = split(text);
    let number: f64 =
        digits.parse().with_context(|| format!("`{text}` is not a time; `30s` and `5m` are"))?;
    let seconds = match unit {
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => bail!("`{text}` is not a time; `30s` and `5m` are"),
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .with_context(|| format!("`{text}` is not a time"))
}

fn split(text: &str) -> (&str, &str) {
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
        ] {
            assert_eq!(mebibytes(text).ok(), want, "{text}");
        }
        for (text, want) in
            [("30", Some(30_000)), ("1.5s", Some(1_500)), ("5m", Some(300_000)), ("0", None), ("x", None)]
        {
            assert_eq!(duration(text).ok().map(|time| time.as_millis()), want, "{text}");
        }
    }
}
