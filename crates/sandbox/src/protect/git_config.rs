//! Reads from git's configuration files which paths they lead to. Git itself is never run on a
//! project outside a cage.

use super::git_index::read_file;
use crate::os_file::os_str;
use std::collections::VecDeque;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// How deep files include others.
const MAX_INCLUDE_DEPTH: usize = 4;

/// The most files of one git directory that are read, and the most paths of each kind that are kept.
const MAX_PATHS: usize = 32;

/// What the configuration of a git directory leads to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitConfig {
    /// The values of `core.hooksPath`.
    pub(super) hooks: Vec<PathBuf>,
    /// Included files.
    pub(super) includes: Vec<PathBuf>,
    /// The values of `core.worktree`.
    pub(super) work_trees: Vec<PathBuf>,
    is_sha256: bool,
}

impl GitConfig {
    /// Reads the files of the git directory, of the repository that it shares, and what they include.
    pub(super) fn read(git_dir: &Path) -> Self {
        let mut config = Self::default();
        let directories = [Some(git_dir.to_owned()), common_dir(git_dir)].into_iter().flatten();
        let files = directories.flat_map(|dir| [dir.join("config"), dir.join("config.worktree")]);
        let mut files: VecDeque<_> = files.map(|file| (file, 0)).collect();
        for _ in 0..MAX_PATHS {
            let Some((file, depth)) = files.pop_front() else { break };
            let from = config.includes.len();
            config.add(&file, &read_file(&file, MAX_BYTES).unwrap_or_default());
            if depth < MAX_INCLUDE_DEPTH {
                files.extend(config.includes[from..].iter().map(|include| (include.clone(), depth + 1)));
            }
        }
        config
    }

    /// How long the names of objects are.
    pub(super) fn hash_bytes(&self) -> usize {
        if self.is_sha256 { 32 } else { 20 }
    }

    fn add(&mut self, file: &Path, text: &[u8]) {
        for (key, value) in settings(text) {
            let paths = match key.as_str() {
                "core.hookspath" => &mut self.hooks,
                "core.worktree" => &mut self.work_trees,
                "include.path" | "includeif.path" => &mut self.includes,
                "extensions.objectformat" => {
                    self.is_sha256 |= value == b"sha256";
                    continue;
                }
                _ => continue,
            };
            if value.is_empty() {
                continue;
            }
            let mut path = PathBuf::from(os_str(&value));
            if key.starts_with("include") {
                path = file.with_file_name(path);
            }
            if !paths.contains(&path) && paths.len() < MAX_PATHS {
                paths.push(path);
            }
        }
    }
}

/// The git directory whose configuration a linked work tree's shares.
pub(super) fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let text = read_file(&git_dir.join("commondir"), MAX_BYTES)?;
    Some(git_dir.join(os_str(text.trim_ascii())))
}

/// Where a file named `.git` leads.
pub(super) fn git_file(path: &Path) -> Option<PathBuf> {
    let text = read_file(path, MAX_BYTES)?;
    let to = text.trim_ascii().strip_prefix(b"gitdir:")?.trim_ascii();
    Some(path.with_file_name(os_str(to)))
}

/// The settings of a file, as `section.name` in small letters, without subsections.
fn settings(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut rest = text.iter().copied().filter(|byte| *byte != b'\r').peekable();
    let (mut section, mut found) = (String::new(), Vec::new());
    while let Some(byte) = rest.next() {
        match byte {
            b'[' => section = section_name(&mut rest),
            b'#' | b';' => skip_line(&mut rest),
            first if first.is_ascii_alphabetic() => {
                let mut name = vec![first];
                while let Some(byte) = rest.next_if(|byte| !matches!(byte, b'=' | b'\n')) {
                    name.push(byte);
                }
                if rest.next() == Some(b'=') {
                    let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
                    found.push((format!("{section}.{name}"), value(&mut rest)));
                }
            }
            _ => {}
        }
    }
    found
}

/// The first word of a header, which ends with a bracket outside quotes.
fn section_name(rest: &mut impl Iterator<Item = u8>) -> String {
    let (mut header, mut is_quoted) = (Vec::new(), false);
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => break,
            b']' if !is_quoted => break,
            b'"' => is_quoted = !is_quoted,
            b'\\' => header.extend(rest.next()),
            byte => header.push(byte),
        }
    }
    let name = header.split(|byte| byte.is_ascii_whitespace() || *byte == b'.').find(|name| !name.is_empty());
    String::from_utf8_lossy(name.unwrap_or_default()).to_ascii_lowercase()
}

/// The text to the end of the line, without quotes, comments and the white space around it.
fn value(rest: &mut Peekable<impl Iterator<Item = u8>>) -> Vec<u8> {
    let (mut value, mut length, mut is_quoted) = (Vec::new(), 0, false);
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\n' => break,
            b'#' | b';' if !is_quoted => {
                skip_line(rest);
                break;
            }
            b' ' | b'\t' if !is_quoted => {
                if length > 0 {
                    value.push(byte);
                }
                continue;
            }
            b'"' => {
                is_quoted = !is_quoted;
                continue;
            }
            b'\\' => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'b') => b'\x08',
                // The value goes on in the next line.
                Some(b'\n') | None => continue,
                Some(byte) => byte,
            },
            byte => byte,
        };
        value.push(byte);
        length = value.len();
    }
    value.truncate(length);
    value
}

fn skip_line(rest: &mut impl Iterator<Item = u8>) {
    rest.find(|byte| *byte == b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_git_reads() {
        for (text, want) in [
            ("[core]\n\thooksPath = h1\n", "h1"),
            ("[CORE] HOOKSPATH=h1", "h1"),
            ("[core]\r\n\thooksPath = h1\r\n", "h1"),
            ("\u{feff}[core]\nhooksPath = h1 # comment", "h1"),
            ("[core]\nhooksPath = h1;comment", "h1"),
            ("[core]\nhooksPath = \"h1 # no\" ; comment", "h1 # no"),
            ("[core]\nhooksPath = a\\\nb", "ab"),
            ("[core]\nhooksPath = \\\n  h1", "h1"),
            ("[core]\nhooksPath = a \"b\\\"c\\\\\"  ", "a b\"c\\"),
            ("# [x]\n; hooksPath = no\n[core] ; why\nhooksPath = h1", "h1"),
            ("[x \"]\"]\n[core]\nbare\nhooksPath = h1", "h1"),
        ] {
            let mut config = GitConfig::default();
            config.add(Path::new("/r/.git/config"), text.as_bytes());
            assert_eq!(config.hooks, [PathBuf::from(want)], "{text:?}");
        }
        let mut config = GitConfig::default();
        let text = "[include]path = a\n[includeIf \"gitdir:[x]\"]\npath = \"../b\"\n[includeIf.x]path = /c";
        config.add(Path::new("/r/.git/config"), text.as_bytes());
        assert_eq!(config.includes, ["/r/.git/a", "/r/.git/../b", "/c"].map(PathBuf::from));
        let mut config = GitConfig::default();
        config.add(Path::new("/r/.git/config"), b"[corex]\nhooksPath = no\n[core \"x\"]\nhooks = no");
        assert_eq!(config, GitConfig::default());
    }
}
