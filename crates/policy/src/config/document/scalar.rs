//! Numbers and words.
//!
//! Invariant: what is taken for a number is one by JSON's own grammar, so that no two readers disagree about it.

use super::node::Value;
use super::reader::{Reader, Stop};
use crate::config::fault::Problem;

impl Reader<'_> {
    /// Reads `true`, `false` or `null`.
    pub(super) fn word(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        let letters = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let rest = &self.bytes()[start..];
        let end = start + rest.iter().position(|byte| !letters(byte)).unwrap_or(rest.len());
        let value = match &self.text()[start..end] {
            "true" => Value::Flag(true),
            "false" => Value::Flag(false),
            "null" => Value::Null,
            _ => {
                return Err(self.stop(
                    start,
                    Problem::BareWord,
                    "put `\"` around text; words are `true`, `false` and `null`",
                ));
            }
        };
        self.at = end;
        Ok(value)
    }

    /// Reads a number, and keeps it as it is written.
    pub(super) fn number(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        let rest = &self.bytes()[start..];
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        let end = start + rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
        let text = &self.text()[start..end];
        if !is_number(text) {
            return Err(self.stop(start, Problem::BadNumber, "digits, with a point or an exponent at most"));
        }
        self.at = end;
        Ok(Value::Number(text.to_owned()))
    }
}

/// Whether `text` is a number as JSON spells it.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
