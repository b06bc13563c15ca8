//! Passes the operator's git name and email into a cage, whose `HOME` is another.
//!
//! Invariant: nothing else of the git configuration passes.

use crate::launch::environment::Variables;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest configuration file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The variables for commits in the operator's name, from `~/.config/git/config` and `~/.gitconfig`.
pub fn git_identity(home: &Path) -> Variables {
    let files = [home.join(".config/git/config"), home.join(".gitconfig")];
    let mut identity = GitIdentity::default();
    for text in files.iter().filter_map(|file| read_git_config(file)) {
        identity.merge(&text);
    }
    identity.variables()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct GitIdentity {
    name: Option<String>,
    email: Option<String>,
}

impl GitIdentity {
    /// Reads the `[user]` sections. Later values win, as in git.
    fn merge(&mut self, text: &str) {
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

/// The text of a regular file; `None` for anything else. A FIFO does not block.
pub(super) fn read_git_config(path: &Path) -> Option<String> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    std::io::read_to_string(file.take(MAX_BYTES)).ok()
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
            let mut identity = GitIdentity::default();
            identity.merge(text);
            let want = GitIdentity { name: name.map(str::to_owned), email: email.map(str::to_owned) };
            assert_eq!(identity, want, "{why}");
        }
    }
}
