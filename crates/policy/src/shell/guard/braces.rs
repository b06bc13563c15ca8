//! Brace expansion: one word becomes several before anything else happens to it.
//!
//! Invariant: every word that the shell makes is made, or the whole is given up as too many.

use crate::shell::word::{Piece, PieceKind, Sequence};

/// More words out of one brace expansion than this are not followed.
const MOST_BRACES: usize = 256;
/// Parts that all the words of one word with braces have together, at most.
const MOST_PARTS: usize = 16 * 1024;

/// A piece, or text that stands for one.
#[derive(Clone, Copy)]
pub(super) enum Part<'w> {
    Piece(&'w Piece),
    Made(&'w str),
    Number,
}

/// Brace expansion: every word, as positions in `made`; `None` when there are too many.
pub(super) fn spread<'w>(pieces: &'w [Piece], made: &mut Vec<Part<'w>>) -> Option<Vec<Vec<usize>>> {
    let mut words = vec![Vec::new()];
    for piece in pieces {
        let choices: Vec<Vec<usize>> = match &piece.kind {
            PieceKind::Braces(alternatives) => {
                let mut all = Vec::new();
                for word in alternatives {
                    all.extend(spread(&word.pieces, made)?);
                }
                all
            }
            PieceKind::Sequence(sequence) => sequenced(*sequence, made),
            _ => {
                made.push(Part::Piece(piece));
                vec![vec![made.len() - 1]]
            }
        };
        if let [only] = choices.as_slice() {
            // In place: copying every word for every piece would take the square of the text's length.
            if words.len() > 1 && made.len() > MOST_PARTS / words.len() {
                return None;
            }
            words.iter_mut().for_each(|word: &mut Vec<usize>| word.extend_from_slice(only));
            continue;
        }
        if words.len() * choices.len() > MOST_BRACES {
            return None;
        }
        if let [only] = choices.as_slice() {
            words.iter_mut().for_each(|word: &mut Vec<usize>| word.extend_from_slice(only));
            continue;
        }
        words = words
            .iter()
            .flat_map(|word: &Vec<usize>| {
                choices.iter().map(move |choice| [word.as_slice(), choice].concat())
            })
            .collect();
    }
    Some(words)
}

/// Letters one by one; numbers are all alike to a rule, so one gap stands for them.
fn sequenced(sequence: Sequence, made: &mut Vec<Part<'_>>) -> Vec<Vec<usize>> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz";
    let Sequence::Letters { first, last, .. } = sequence else {
        made.push(Part::Number);
        return vec![vec![made.len() - 1]];
    };
    let (low, high) = (first.min(last) as usize, first.max(last) as usize);
    let range = low.saturating_sub('A' as usize)..=high.saturating_sub('A' as usize);
    range
        .filter_map(|at| LETTERS.get(at..=at))
        .map(|letter| {
            made.push(Part::Made(letter));
            vec![made.len() - 1]
        })
        .collect()
}
