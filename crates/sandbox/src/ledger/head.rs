//! `HEAD`: the end of the chain, kept apart from it.
//!
//! A head has exactly one encoding, of exactly [`SIZE`] bytes.

use super::chain::{ChainHead, Hash};
use crate::os_file::FileExt;
use serde::Deserialize;
use std::fs::File;
use std::io;
use std::time::Duration;

/// The size of `HEAD` in bytes: within one disk sector, so that a power cut leaves the old ones or
/// the new.
pub(super) const SIZE: usize = 320;

/// The longest boot id.
const MAX_BOOT_ID: usize = 36;

/// The contents of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The last record.
    pub(super) last: ChainHead,
    /// The segment it is in.
    pub(super) segment: u64,
    /// How long that segment is, the record included.
    pub(super) length: u64,
    /// The last record that is known to be on the disk.
    pub(super) synced: u64,
    /// The boot id of the machine when this was written.
    pub(super) boot: String,
    /// Whether the head is also kept outside the ledger's directory.
    pub(super) kept: bool,
}

/// What the file `HEAD` contains.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadState {
    /// Nothing yet.
    Empty,
    /// A head.
    Head(Head),
    /// Something that is not one.
    Foreign,
}

/// The JSON object in `HEAD`.
#[derive(Deserialize)]
struct Fields {
    seq: u64,
    segment: u64,
    length: u64,
    synced: u64,
    boot: String,
    #[serde(default)]
    kept: bool,
}

impl HeadState {
    /// Reads `HEAD` without its lock. A read may meet a write half-way; such bytes do not come
    /// twice.
    pub(super) fn read_unlocked(file: &File) -> io::Result<Self> {
        let mut before = None;
        for _ in 0..100 {
            let mut bytes = [0; SIZE + 1];
            let count = file.read_at(&mut bytes, 0)?;
            match Head::parse(&bytes[..count]) {
                Some(head) => return Ok(Self::Head(head)),
                None if count == 0 => return Ok(Self::Empty),
                None if before == Some((bytes, count)) => break,
                None => before = Some((bytes, count)),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self::Foreign)
    }
}

impl Head {
    /// The head of a ledger without records.
    pub(super) fn first(boot: &str) -> Self {
        Self { last: ChainHead::NONE, segment: 1, length: 0, synced: 0, boot: boot.to_owned(), kept: false }
    }

    /// The longest numbers and the longest boot id make 269 bytes; spaces fill the rest.
    pub(super) fn encode(&self) -> String {
        let Self { last: ChainHead { seq, hash }, segment, length, synced, boot, kept } = self;
        let kept = if *kept { ",\"kept\":true" } else { "" };
        let fields = format!(
            "{hash}\n{{\"seq\":{seq},\"segment\":{segment},\"length\":{length},\"synced\":{synced},\"boot\":\"{boot}\"{kept}"
        );
        let check = Hash::of(fields.as_bytes()).to_string();
        let text = format!("{fields},\"check\":\"{}\"}}", &check[..16]);
        format!("{text:<width$}\n", width = SIZE - 1)
    }

    /// Parses a head; `None` when these bytes were not written by [`Head::encode`].
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (hash, fields) = str::from_utf8(bytes).ok()?.split_once('\n')?;
        let Fields { seq, segment, length, synced, boot, kept } = serde_json::from_str(fields).ok()?;
        let last = ChainHead { seq, hash: Hash::parse(hash)? };
        let head = Self { last, segment, length, synced, boot, kept };
        let sound = synced <= seq && seq < u64::MAX && segment > 0 && head.boot.len() <= MAX_BOOT_ID;
        (sound && head.encode().as_bytes() == bytes).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest() -> Head {
        let last = ChainHead { seq: u64::MAX - 1, hash: Hash::of(b"x") };
        Head {
            last,
            segment: u64::MAX,
            length: u64::MAX,
            synced: u64::MAX - 1,
            boot: "f".repeat(36),
            kept: true,
        }
    }

    #[test]
    fn a_head_comes_back_as_it_went() {
        for head in [Head::first(""), Head::first("5c2d6f4e-0000-4000-8000-123456789abc"), longest()] {
            assert_eq!(head.encode().len(), SIZE);
            assert_eq!(Head::parse(head.encode().as_bytes()), Some(head.clone()), "{head:?}");
        }
    }

    #[test]
    fn the_encoding_is_as_documented() {
        let want = format!(
            "{}\n{{\"seq\":0,\"segment\":1,\"length\":0,\"synced\":0,\"boot\":\"5c2d\",\"check\":\"8a0028c32ff51db7\"}}",
            "0".repeat(64)
        );
        assert_eq!(Head::first("5c2d").encode().trim_end(), want);
        assert!(longest().encode().starts_with(&format!("{}\n", Hash::of(b"x"))));
    }

    #[test]
    fn a_head_with_a_true_check_is_still_no_head_when_it_says_nonsense() {
        let good = Head::first("5c2d");
        for (why, head) in [
            ("no segment", Head { segment: 0, ..good.clone() }),
            (
                "no number for the next",
                Head { last: ChainHead { seq: u64::MAX, ..good.last }, ..good.clone() },
            ),
            ("more on the disk than there is", Head { synced: 1, ..good.clone() }),
            ("what had to be escaped", Head { boot: "\\n".to_owned(), ..good.clone() }),
            ("a quote", Head { boot: "a\"b".to_owned(), ..good.clone() }),
            ("a boot id that is too long", Head { boot: "f".repeat(37), ..good.clone() }),
        ] {
            assert_eq!(Head::parse(head.encode().as_bytes()), None, "{why}");
        }
    }

    #[test]
    fn no_single_changed_byte_is_taken_for_a_head() {
        let good = Head::first("5c2d6f4e-0000-4000-8000-123456789abc").encode().into_bytes();
        for at in 0..SIZE {
            for flip in [1, 0x10, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                assert_eq!(Head::parse(&bad), None, "byte {at}");
            }
        }
        assert_eq!(Head::parse(&good[..SIZE - 1]), None);
        assert_eq!(Head::parse(b""), None);
    }
}
