//! The list of every address in a program's tables, as the linker packs it.
//!
//! An even word says where one lies, counted from the program's beginning; the bits of an odd word, but for the lowest, say which of the
//! 63 words behind that are addresses too, and the next odd word goes on from there.
//!
//! Invariant: only places that the list names are written to.

/// The bytes that one odd word tells of.
const TOLD: usize = 63 * 8;

/// Where the list begins and ends, and where the program lies.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub(crate) program: usize,
    pub(crate) begin: usize,
    pub(crate) end: usize,
}

impl List {
    /// Adds where the program lies to every address whose place is between `low` and `high`. It runs before any table is right,
    /// so it has to do without: no slices, nothing that could panic.
    ///
    /// # Safety
    /// The list has to be the program's own, and nobody may have looked at these places, or written to them before.
    pub(crate) unsafe fn write(self, low: usize, high: usize) {
        let (mut at, mut place) = (self.begin, 0_usize);
        while at < self.end {
            // SAFETY: the list lies between `begin` and `end`.
            let word = unsafe { *(at as *const usize) };
            at = at.wrapping_add(8);
            if word & 1 == 0 {
                place = self.program.wrapping_add(word);
                // SAFETY: the caller's promise.
                unsafe { self.write_one(place, low, high) };
                place = place.wrapping_add(8);
                continue;
            }
            let behind = place.wrapping_add(TOLD);
            if behind > low && place < high {
                let mut bits = word >> 1;
                while bits != 0 {
                    let next = place.wrapping_add(8 * bits.trailing_zeros() as usize);
                    // SAFETY: the caller's promise.
                    unsafe { self.write_one(next, low, high) };
                    bits &= bits.wrapping_sub(1);
                }
            }
            place = behind;
        }
    }

    unsafe fn write_one(self, place: usize, low: usize, high: usize) {
        if low <= place && place < high {
            let place = place as *mut usize;
            // SAFETY: the caller's promise; the linker says that an address lies there.
            unsafe { place.write((*place).wrapping_add(self.program)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs a rising list of word numbers.
    fn packed(places: &[usize]) -> Vec<usize> {
        let (mut words, mut rest) = (Vec::new(), places);
        while let [first, behind @ ..] = rest {
            words.push(first * 8);
            let mut base = first + 1;
            rest = behind;
            loop {
                let here = rest.iter().take_while(|place| **place < base + 63).count();
                if here == 0 {
                    break;
                }
                words.push(rest[..here].iter().fold(1, |word, place| word | 1 << (place - base + 1)));
                (base, rest) = (base + 63, &rest[here..]);
            }
        }
        words
    }

    #[test]
    fn every_address_of_a_part_is_written_once_and_nothing_else() {
        const WORDS: usize = 700;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        for round in 0..400 {
            let sparse = 1 + round % 90;
            let places: Vec<usize> = (0..WORDS).filter(|_| next(sparse) == 0).collect();
            let list = packed(&places);
            let mut program = vec![5_usize; WORDS];
            let base = program.as_mut_ptr().addr();
            let end = list.as_ptr().addr() + 8 * list.len();
            let whole = List { program: base, begin: list.as_ptr().addr(), end };
            let (one, two) = (next(WORDS + 1), next(WORDS + 1));
            let part = one.min(two)..one.max(two);
            let written = |program: &[usize], part: &std::ops::Range<usize>| {
                for (at, word) in program.iter().enumerate() {
                    let is = places.contains(&at) && part.contains(&at);
                    assert_eq!(
                        *word,
                        if is { base + 5 } else { 5 },
                        "word {at} of {part:?} in round {round}"
                    );
                }
            };
            // SAFETY: every place that the list names is a word of `program`.
            unsafe { whole.write(base + 8 * part.start, base + 8 * part.end) };
            written(&program, &part);
            // SAFETY: as above, and these have not been written.
            unsafe {
                whole.write(0, base + 8 * part.start);
                whole.write(base + 8 * part.end, usize::MAX);
            }
            written(&program, &(0..WORDS));
        }
    }
}
