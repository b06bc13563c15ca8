//! `HEAD`: the end of the chain, kept apart from it.
//!
//! Invariant: a head has exactly one spelling of exactly [`SIZE`] bytes; any other bytes are not a head.

use super::chain::{Hash, Tip};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// How many bytes `HEAD` has: within one disk sector, so that a power cut leaves the old ones or the new.
pub(super) const SIZE: usize = 320;

/// The end of the chain, as `HEAD` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The last record.
    pub(super) tip: Tip,
    /// The segment it is in.
    pub(super) segment: u64,
    /// How long that segment is, the record included.
    pub(super) length: u64,
    /// The last record that is known to be on the disk.
    pub(super) synced: u64,
    /// The machine's start in which this was written.
    pub(super) boot: String,
}

/// What is in the file `HEAD`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing yet.
    Nothing,
    /// A head.
    Head(Head),
    /// Something that is not one.
    Foreign,
}

impl Found {
    /// Reads `HEAD` without its lock. A read may meet a write half-way; such bytes do not come twice.
    pub(super) fn without_lock(file: &File) -> io::Result<Self> {
        let mut before = ([0; SIZE + 1], 0);
        for _ in 0..100 {
            let mut bytes = [0; SIZE + 1];
            let count = file.read_at(&mut bytes, 0)?;
            match Head::parse(&bytes[..count]) {
                Some(head) => return Ok(Self::Head(head)),
                None if count == 0 => return Ok(Self::Nothing),
                None if (bytes, count) == before => break,
                None => before = (bytes, count),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self::Foreign)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    seq: u64,
    segment: u64,
    length: u64,
    synced: u64,
    boot: String,
    #[serde(rename = "check")]
    _check: String,
}

impl Head {
    /// The head of a ledger without records.
    pub(super) fn first(boot: &str) -> Self {
        Self { tip: Tip::NONE, segment: 1, length: 0, synced: 0, boot: boot.to_owned() }
    }

    pub(super) fn encode(&self) -> [u8; SIZE] {
        let mut out = [b' '; SIZE];
        let Self { tip, segment, length, synced, boot } = self;
        let mut text = format!(
            "{}\n{{\"seq\":{},\"segment\":{segment},\"length\":{length},\"synced\":{synced},\"boot\":\"{boot}\"",
            tip.hash, tip.seq
        );
        let check = Hash::of(text.as_bytes()).digits();
        text.push_str(",\"check\":\"");
        text.push_str(&String::from_utf8_lossy(&check[..16]));
        text.push_str("\"}");
        // The longest numbers and a boot id of 36 characters make 257 bytes: this never falls short.
        let _ = (&mut out[..]).write_all(text.as_bytes());
        out[SIZE - 1] = b'\n';
        out
    }

    /// Reads a head back; `None` when these bytes were not written by [`Head::encode`].
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (hash, rest) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let rest: Rest = serde_json::from_str(rest).ok()?;
        let tip = Tip { seq: rest.seq, hash: Hash::parse(hash)? };
        let head =
            Self { tip, segment: rest.segment, length: rest.length, synced: rest.synced, boot: rest.boot };
        let sound = head.synced <= head.tip.seq && head.segment > 0 && head.boot.len() <= 36;
        (sound && head.encode() == bytes).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest() -> Head {
        let tip = Tip { seq: u64::MAX, hash: Hash::of(b"x") };
        Head { tip, segment: u64::MAX, length: u64::MAX, synced: u64::MAX, boot: "f".repeat(36) }
    }

    #[test]
    fn a_head_comes_back_as_it_went() {
        for head in [Head::first(""), Head::first("5c2d6f4e-0000-4000-8000-123456789abc"), longest()] {
            assert_eq!(Head::parse(&head.encode()), Some(head.clone()), "{head:?}");
        }
    }

    #[test]
    fn the_hash_stands_on_the_first_line() {
        assert!(longest().encode().starts_with(format!("{}\n", Hash::of(b"x")).as_bytes()));
    }

    #[test]
    fn no_single_changed_byte_is_taken_for_a_head() {
        let good = Head::first("5c2d6f4e-0000-4000-8000-123456789abc").encode();
        for at in 0..SIZE {
            for flip in [1, 0x10, 0x80] {
                let mut bad = good;
                bad[at] ^= flip;
                assert_eq!(Head::parse(&bad), None, "byte {at}");
            }
        }
        assert_eq!(Head::parse(&good[..SIZE - 1]), None);
        assert_eq!(Head::parse(b""), None);
    }
}
