//! `HEAD`: the end of the chain, kept apart from it.
//!
//! Invariant: a head has exactly one spelling of exactly [`SIZE`] bytes; any other bytes are not a head.

use super::chain::{Hash, Tip};
use super::decimal::Decimal;
use std::fs::File;
use std::io;
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

impl Head {
    /// The head of a ledger without records.
    pub(super) fn first(boot: &str) -> Self {
        Self { tip: Tip::NONE, segment: 1, length: 0, synced: 0, boot: boot.to_owned() }
    }

    pub(super) fn encode(&self) -> [u8; SIZE] {
        let mut pen = Pen { out: [b' '; SIZE], at: 0 };
        pen.put(&self.tip.hash.digits());
        for (name, number) in [
            (&b"\n{\"seq\":"[..], self.tip.seq),
            (b",\"segment\":", self.segment),
            (b",\"length\":", self.length),
            (b",\"synced\":", self.synced),
        ] {
            pen.put(name);
            pen.put(Decimal::of(number).digits());
        }
        pen.put(b",\"boot\":\"");
        pen.put(self.boot.as_bytes());
        pen.put(b"\"");
        let check = Hash::of(pen.out.get(..pen.at).unwrap_or_default()).digits();
        pen.put(b",\"check\":\"");
        pen.put(&check[..16]);
        pen.put(b"\"}");
        pen.out[SIZE - 1] = b'\n';
        pen.out
    }

    /// Reads a head back; `None` when these bytes were not written by [`Head::encode`].
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (hash, rest) = bytes.split_at_checked(64)?;
        let (seq, rest) = number(rest.strip_prefix(b"\n{\"seq\":")?)?;
        let (segment, rest) = number(rest.strip_prefix(b",\"segment\":")?)?;
        let (length, rest) = number(rest.strip_prefix(b",\"length\":")?)?;
        let (synced, rest) = number(rest.strip_prefix(b",\"synced\":")?)?;
        let rest = rest.strip_prefix(b",\"boot\":\"")?;
        let boot = rest.get(..rest.iter().position(|byte| *byte == b'"')?)?;
        // What would have to be escaped is in no boot id.
        let plain = boot.len() <= 36 && boot.iter().all(|byte| *byte >= b' ' && *byte != b'\\');
        let boot = str::from_utf8(boot).ok()?.to_owned();
        let tip = Tip { seq, hash: Hash::parse(str::from_utf8(hash).ok()?)? };
        let head = Self { tip, segment, length, synced, boot };
        let sound = plain && head.synced <= head.tip.seq && head.tip.seq < u64::MAX && head.segment > 0;
        (sound && head.encode() == bytes).then_some(head)
    }
}

/// The number that `text` begins with, and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = text.split_at_checked(end)?;
    Some((str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// Writes a head from its front. The longest numbers and a boot id of 36 characters make 257 bytes: it never runs out.
struct Pen {
    out: [u8; SIZE],
    at: usize,
}

impl Pen {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        if let Some(place) = self.out.get_mut(self.at..end) {
            place.copy_from_slice(bytes);
            self.at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest() -> Head {
        let tip = Tip { seq: u64::MAX - 1, hash: Hash::of(b"x") };
        Head { tip, segment: u64::MAX, length: u64::MAX, synced: u64::MAX - 1, boot: "f".repeat(36) }
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
    fn a_head_with_a_true_check_is_still_no_head_when_it_says_nonsense() {
        let good = Head::first("5c2d");
        for (why, head) in [
            ("no segment", Head { segment: 0, ..good.clone() }),
            ("no number for the next", Head { tip: Tip { seq: u64::MAX, ..good.tip }, ..good.clone() }),
            ("more on the disk than there is", Head { synced: 1, ..good.clone() }),
            ("what had to be escaped", Head { boot: "\\n".to_owned(), ..good.clone() }),
            ("a quote", Head { boot: "a\"b".to_owned(), ..good.clone() }),
            ("a boot id that is too long", Head { boot: "f".repeat(37), ..good.clone() }),
        ] {
            assert_eq!(Head::parse(&head.encode()), None, "{why}");
        }
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
