//! The nearest known name to a misspelled one.

use super::schema::{Key, KeySupport, ROOT, Shape};

/// Longer names are not compared: the comparison is quadratic, and no key is this long.
const MAX_NAME_LEN: usize = 128;

/// The name in `known` that is nearest to `name`, and their edit distance.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, usize)> {
    if name.len() > MAX_NAME_LEN {
        return None;
    }
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (candidate, strsim::osa_distance(&name, &candidate.to_lowercase())))
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

/// The path of a key with this name in another section.
fn elsewhere(word: &str, keys: &[Key], prefix: &str) -> Option<String> {
    let here = keys.iter().find(|key| key.name == word && key.serving == KeySupport::Served);
    if let Some(key) = here {
        return Some(format!("{prefix}{}", key.name));
    }
    keys.iter().find_map(|key| match &key.shape {
        Shape::Section(inner) => elsewhere(word, inner, &format!("{prefix}{}.", key.name)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
