//! The links of the chain: a hash, and the place of the last record.
//!
//! Invariant: a hash is 32 bytes, written as 64 lower-case hexadecimal digits.

use sha2::{Digest, Sha256};
use std::fmt;

/// The SHA-256 of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record names as its predecessor.
    pub const NONE: Self = Self([0; 32]);

    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The SHA-256 of `parts` one after the other.
    pub(super) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Takes 64 lower-case hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |b: u8| match b {
            b'0'..=b'9' => Some(b - b'0'),
            b'a'..=b'f' => Some(b - b'a' + 10),
            _ => None,
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The 64 digits, without a detour over `fmt`: this is on the way of every call.
    pub(super) fn digits(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut out = [0; 64];
        for (pair, byte) in out.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        out
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.digits()))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The last record of a chain: what the next one continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Its number; 0 when there is none yet.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl Tip {
    /// The tip of an empty chain.
    pub const NONE: Self = Self { seq: 0, hash: Hash::NONE };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_spelled_in_one_way_only() {
        let hash = Hash::of(b"abc");
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), digits);
        assert_eq!(hash, Hash::of_parts(&[b"a", b"", b"bc"]));
        for (why, text, want) in [
            ("as written", digits.to_owned(), Some(hash)),
            ("upper case", digits.to_uppercase(), None),
            ("too short", digits[1..].to_owned(), None),
            ("too long", format!("{digits}0"), None),
            ("no digits", "z".repeat(64), None),
            ("not ASCII", "é".repeat(32), None),
        ] {
            assert_eq!(Hash::parse(&text), want, "{why}");
        }
    }
}
