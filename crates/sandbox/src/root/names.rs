//! The first so many names of a directory, in the order of their bytes.
//!
//! They lie one after the other in one piece of memory: a directory of ten thousand is not ten thousand pieces.
//!
//! Invariant: at most twice as many names are held as are wanted, and none is lost that is wanted.

use super::list::EntryKind;
use std::cmp::Ordering;

/// Names are gathered at least this far before they are sorted and cut.
const LEAST: usize = 256;

/// The names.
#[derive(Debug, Clone)]
pub(super) struct Names {
    wanted: usize,
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// Whether some were cut off: then only a name before the last of them is wanted.
    is_cut: bool,
}

/// One name.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// What comes behind that which all names have in common, as a number in the same order.
    key: u64,
    start: usize,
    length: u16,
    kind: EntryKind,
}

impl Names {
    /// The first `wanted` names of however many come.
    pub(super) fn first(wanted: usize) -> Self {
        Self { wanted, bytes: Vec::new(), spans: Vec::new(), is_cut: false }
    }

    /// Whether `name` may be among the first.
    pub(super) fn have_room_for(&self, name: &[u8]) -> bool {
        match self.spans.get(self.wanted.wrapping_sub(1)) {
            // After a cut, the wanted ones stand in order in front of those that came later.
            Some(last) if self.is_cut => name < self.name(last),
            _ => self.wanted > 0,
        }
    }

    /// Takes a name in.
    pub(super) fn add(&mut self, name: &[u8], kind: EntryKind) {
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.spans.push(Span { key: 0, start: self.bytes.len(), length, kind });
        self.bytes.extend_from_slice(&name[..usize::from(length)]);
        if self.spans.len() >= self.wanted.max(LEAST).saturating_mul(2) {
            self.settle();
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// How much memory they take.
    pub(super) fn weight(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    /// Sorts them for good; no more are added.
    pub(super) fn close(mut self) -> Self {
        self.settle();
        self.bytes.shrink_to_fit();
        self.spans.shrink_to_fit();
        self
    }

    /// Sorts them, and cuts off what is not wanted.
    fn settle(&mut self) {
        let shared = self.shared();
        let (bytes, spans) = (&self.bytes, &mut self.spans);
        for span in spans.iter_mut() {
            span.key = key(&bytes[span.start..][..usize::from(span.length)][shared..]);
        }
        // Most names differ in eight bytes; the rest is compared in full.
        spans.sort_unstable_by(|a, b| match a.key.cmp(&b.key) {
            Ordering::Equal => name(bytes, a).cmp(name(bytes, b)),
            decided => decided,
        });
        if self.spans.len() > self.wanted {
            self.is_cut = true;
            self.spans.truncate(self.wanted);
            self.close_up();
        }
    }

    /// The names from `offset` on, once they are closed.
    pub(super) fn from(&self, offset: usize) -> impl ExactSizeIterator<Item = (&[u8], EntryKind)> {
        let spans = self.spans.get(offset..).unwrap_or_default();
        spans.iter().map(|span| (self.name(span), span.kind))
    }

    /// Leaves no room to names that are gone.
    fn close_up(&mut self) {
        let mut kept = Vec::with_capacity(self.bytes.len());
        for span in &mut self.spans {
            let start = kept.len();
            kept.extend_from_slice(name(&self.bytes, span));
            span.start = start;
        }
        self.bytes = kept;
    }

    /// How many bytes all names begin with in common.
    fn shared(&self) -> usize {
        let mut names = self.spans.iter().map(|span| self.name(span));
        let first = names.next().unwrap_or_default();
        names.fold(first.len(), |shared, name| {
            first[..shared].iter().zip(name).take_while(|(a, b)| a == b).count()
        })
    }

    fn name(&self, span: &Span) -> &[u8] {
        name(&self.bytes, span)
    }
}

fn name<'b>(bytes: &'b [u8], span: &Span) -> &'b [u8] {
    &bytes[span.start..][..usize::from(span.length)]
}

/// The first eight bytes as a number. No name has a NUL in it, so a shorter one comes first here as well.
fn key(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = name.len().min(8);
    first[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(names: &Names, offset: usize) -> Vec<Vec<u8>> {
        names.from(offset).map(|(name, _)| name.to_vec()).collect()
    }

    #[test]
    fn the_first_names_are_kept_and_the_memory_follows_them() {
        let mut names = Names::first(3);
        for number in (0..100_000_u32).rev() {
            let name = format!("file-{number:06}-{}", "x".repeat(80)).into_bytes();
            if names.have_room_for(&name) {
                names.add(&name, EntryKind::File);
            }
            assert!(names.spans.len() <= LEAST * 2 && names.bytes.len() < LEAST * 2 * 100, "it grows");
        }
        let names = names.close();
        let numbers: Vec<_> = told(&names, 0).iter().map(|name| name[5..11].to_vec()).collect();
        assert_eq!(numbers, [b"000000", b"000001", b"000002"]);
        assert_eq!(told(&names, 2).len(), 1);
        assert!(told(&names, 9).is_empty() && told(&names, usize::MAX).is_empty());
    }

    proptest! {
        #[test]
        fn names_come_in_the_order_of_their_bytes(
            all in prop::collection::hash_set("(pre)?[ab\u{e9}]{1,12}", 0..1200),
            wanted in 0_usize..700,
        ) {
            let mut names = Names::first(wanted);
            for name in all.iter().map(String::as_bytes) {
                if names.have_room_for(name) {
                    names.add(name, EntryKind::File);
                }
            }
            let names = names.close();
            let mut want: Vec<Vec<u8>> = all.iter().map(|name| name.clone().into_bytes()).collect();
            want.sort();
            want.truncate(wanted);
            prop_assert_eq!(told(&names, 0), want);
        }
    }
}
