//! The links of the chain: the hash of a record, and the last record.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::fmt;

/// The SHA-256 of a record; spelled as 64 lower-case hexadecimal digits.
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
        HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The last record of a chain: what the next one continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Its number; 0 when there is none yet.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl ChainHead {
    /// The head of an empty chain.
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
            ("a byte too long", format!("{digits}00"), None),
            ("no digits", "z".repeat(64), None),
            ("not ASCII", "é".repeat(32), None),
        ] {
            assert_eq!(Hash::parse(&text), want, "{why}");
        }
    }
}
