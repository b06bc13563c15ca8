//! What stands behind the `?` of a request.
//!
//! Invariant: only numbers are read from it; a token there is not looked at.

/// The number under `name`, if there is one.
pub(super) fn number(query: Option<&str>, name: &str) -> Option<u64> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
}
