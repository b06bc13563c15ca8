//! Git's identity, carried into a cage whose home is another.
//!
//! Invariant: a name and an address, and nothing else of the operator's git configuration.

use crate::launch::environment::Variables;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

/// A git configuration is short; whatever is longer is something else.
const MOST_BYTES: u64 = 1 << 20;

/// The variables that make commits in the operator's name, from `~/.gitconfig` or `~/.config/git/config`.
pub fn git_identity(home: &Path) -> Variables {
    let places = [home.join(".config/git/config"), home.join(".gitconfig")];
    let mut identity = Identity::default();
    for text in places.iter().filter_map(|place| read(place)) {
        identity.take(&text);
    }
    identity.variables()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Identity {
    name: Option<String>,
    email: Option<String>,
}

impl Identity {
    /// Reads `[user]` sections; what comes later wins, as git does it.
    fn take(&mut self, text: &str) {
        let mut in_user = false;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                in_user =
                    section.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("user"));
                continue;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| in_user) else { continue };
            let value = value.split(['#', ';']).next().unwrap_or_default().trim().trim_matches('"');
            if value.is_empty() || value.contains(|c: char| c.is_control() || c == '\\') {
                continue;
            }
            match key.trim().to_ascii_lowercase().as_str() {
                "name" => self.name = Some(value.to_owned()),
                "email" => self.email = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    fn variables(&self) -> Variables {
        let pairs = [
            ("GIT_AUTHOR_NAME", &self.name),
            ("GIT_COMMITTER_NAME", &self.name),
            ("GIT_AUTHOR_EMAIL", &self.email),
            ("GIT_COMMITTER_EMAIL", &self.email),
        ];
        pairs
            .into_iter()
            .filter_map(|(name, value)| Some((name.into(), OsString::from(value.as_ref()?))))
            .collect()
    }
}

/// A regular file's text; nothing for whatever else may lie there.
fn read(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return None;
    }
    std::io::read_to_string(std::fs::File::open(path).ok()?.take(MOST_BYTES)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_an_address_are_carried_over() {
        for (why, text, name, email) in [
            ("plain", "[user]\n\tname = A B\n\temail = a@example.org\n", Some("A B"), Some("a@example.org")),
            ("quoted, with a remark", "[user]\nname = \"A B\" # me\n", Some("A B"), None),
            ("another section", "[sendemail]\nname = X\n", None, None),
            ("the last one wins", "[user]\nname=A\n[core]\n[USER]\nname=B\n", Some("B"), None),
            ("nothing that could run", "[user]\nname = a\\nb\n[alias]\nx = !rm\n", None, None),
        ] {
            let mut identity = Identity::default();
            identity.take(text);
            let want = Identity { name: name.map(str::to_owned), email: email.map(str::to_owned) };
            assert_eq!(identity, want, "{why}");
        }
    }
}
