//! Brace expansion: one word becomes several before any other expansion.

use crate::shell::word::{Piece, PieceKind, Sequence};

/// Maximum number of words of one brace expansion.
const MAX_BRACE_WORDS: usize = 256;
/// Maximum number of parts of all the words of one brace expansion.
const MAX_BRACE_PARTS: usize = 16 * 1024;

/// A piece, or text that replaces one.
#[derive(Clone, Copy)]
pub(super) enum Part<'w> {
    Piece(&'w Piece),
    Made(&'w str),
    Number,
}

/// Brace expansion: every word, as indices into `made`; `None` if there are too many.
pub(super) fn expand_braces<'w>(pieces: &'w [Piece], made: &mut Vec<Part<'w>>) -> Option<Vec<Vec<usize>>> {
    let mut words = vec![Vec::new()];
    for piece in pieces {
        let choices: Vec<Vec<usize>> = match &piece.kind {
            PieceKind::Braces(alternatives) => {
                let mut all = Vec::new();
                for word in alternatives {
                    all.extend(expand_braces(&word.pieces, made)?);
                }
                all
            }
            PieceKind::Sequence(sequence) => expand_sequence(*sequence, made),
            _ => {
                made.push(Part::Piece(piece));
                vec![vec![made.len() - 1]]
            }
        };
        if let [only] = choices.as_slice() {
            // In place: copying every word for every piece would be quadratic.
            if words.len() > 1 && made.len() > MAX_BRACE_PARTS / words.len() {
                return None;
            }
            words.iter_mut().for_each(|word: &mut Vec<usize>| word.extend_from_slice(only));
            continue;
        }
        if words.len() * choices.len() > MAX_BRACE_WORDS {
            return None;
        }
        let longer = |word: &Vec<usize>| {
            choices.iter().map(|choice| [word.as_slice(), choice].concat()).collect::<Vec<_>>()
        };
        words = words.iter().flat_map(longer).collect();
    }
    Some(words)
}

/// Letters one by one. Rules treat all numbers alike, so one gap replaces them.
fn expand_sequence(sequence: Sequence, made: &mut Vec<Part<'_>>) -> Vec<Vec<usize>> {
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
