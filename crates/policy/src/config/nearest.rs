//! The nearest known word to a misspelled one.
//!
//! Invariant: the work is bounded, however long the words.

use super::schema::{Key, ROOT, Serving, Shape};

/// Longer words than this are not compared: no key is, and the comparison is quadratic.
const LONGEST: usize = 128;

/// The word of `known` that is nearest to `word`, and how many slips apart they are.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, usize)> {
    if word.len() > LONGEST {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (candidate, distance(word, candidate)))
        .min_by_key(|(_, distance)| *distance)
}

/// A hint for a key that is not among `keys`.
pub(crate) fn suggest(word: &str, keys: &'static [Key]) -> String {
    let siblings =
        keys.iter().flat_map(|key| std::iter::once(key.name).chain(key.aliases.names().iter().copied()));
    let near = nearest(word, siblings);
    if let Some((name, 0..=2)) = near {
        return format!("did you mean `{name}`?");
    }
    if let Some(path) = elsewhere(word, ROOT, "") {
        return format!("did you mean `{path}`?");
    }
    near.map_or_else(String::new, |(name, _)| format!("did you mean `{name}`?"))
}

/// The path of a key of exactly this name in another section.
fn elsewhere(word: &str, keys: &[Key], prefix: &str) -> Option<String> {
    let here = keys.iter().find(|key| key.name == word && key.serving == Serving::Served);
    if let Some(key) = here {
        return Some(format!("{prefix}{}", key.name));
    }
    keys.iter().find_map(|key| match &key.shape {
        Shape::Section(inner) => elsewhere(word, inner, &format!("{prefix}{}.", key.name)),
        _ => None,
    })
}

/// How many characters must be added, taken away, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, right) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(left != right)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_counted() {
        for (a, b, want) in [
            ("workspace", "workspace", 0),
            ("workspce", "workspace", 1),
            ("wrokspace", "workspace", 1),
            ("Workspace", "workspace", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), want, "`{a}` and `{b}`");
        }
    }

    #[test]
    fn a_key_in_the_wrong_section_is_pointed_to_its_own() {
        for (why, word, want) in [
            ("a fragment of the documentation", "allow_read_paths", "tools.allow_read_paths"),
            ("deep", "enable_deny_patterns", "tools.exec.enable_deny_patterns"),
            ("a slip", "isolaton", "isolation"),
            ("far from everything, the nearest all the same", "zzzz", "tools"),
        ] {
            assert_eq!(suggest(word, ROOT), format!("did you mean `{want}`?"), "{why}");
        }
    }
}
