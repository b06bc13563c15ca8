//! Reads from a git index which paths git tracks. Git itself is never run on a project outside a
//! cage: its configuration names programs.
//!
//! A file that is not an index of a known version tracks nothing, and of paths out of order not all
//! count.

use crate::os_file::read_regular_file;
use std::path::Path;

/// The most bytes of indexes that are read for one search; half a million paths fit.
pub(super) const MAX_INDEX_BYTES: u64 = 128 << 20;

/// Which of `candidates`, paths relative to the work tree, git tracks: as a file, or as a directory
/// with at least one tracked file in it. An index of more than `bytes_left` tracks nothing: what it
/// tracks is then protected.
pub(super) fn tracked(
    git_dir: &Path,
    hash_bytes: usize,
    candidates: &[&[u8]],
    bytes_left: &mut u64,
) -> Vec<bool> {
    let mut found = vec![false; candidates.len()];
    // A path and the directory of that name: the first path that is not less tells of each.
    let keys = candidates.iter().enumerate();
    let keys = keys.flat_map(|(at, path)| [(path.to_vec(), at), ([path, b"/".as_slice()].concat(), at)]);
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    let mut read = |name: &str| {
        let index = read_regular_file(&git_dir.join(name), *bytes_left).ok()?;
        *bytes_left -= index.len() as u64;
        Some(index)
    };
    let index = read("index");
    let shared = index.and_then(|index| mark(&index, hash_bytes, &keys, &mut found));
    if let Some(Some(shared)) = shared {
        // Most paths of a split index are in the file that it names.
        let name: String = shared.iter().map(|byte| format!("{byte:02x}")).collect();
        let index = read(&format!("sharedindex.{name}"));
        let _ = index.and_then(|index| mark(&index, hash_bytes, &keys, &mut found));
    }
    found
}

/// Marks which of the sorted `keys` an index tracks, and returns as [`each_path`] does. One pass:
/// git sorts the paths.
fn mark(
    index: &[u8],
    hash_bytes: usize,
    mut keys: &[(Vec<u8>, usize)],
    found: &mut [bool],
) -> Option<Option<Vec<u8>>> {
    each_path(index, hash_bytes, &mut |path| {
        while let [(key, at), rest @ ..] = keys {
            // A sparse index has directories, which end with a slash.
            let is_within = path.ends_with(b"/") && key.starts_with(path);
            if !is_within && key.as_slice() > path {
                break;
            }
            found[*at] |= is_within || key == path || key.ends_with(b"/") && path.starts_with(key);
            keys = rest;
        }
    })
}

/// Visits every path of an index of version 2, 3 or 4, and returns the name of the index that it
/// shares, if it shares one. `None` when it breaks off.
fn each_path(index: &[u8], hash_bytes: usize, visit: &mut dyn FnMut(&[u8])) -> Option<Option<Vec<u8>>> {
    /// Times, device, inode, mode, owner and size.
    const STAT_BYTES: usize = 40;
    const EXTENDED: u16 = 0x4000;
    let mut rest = index.strip_prefix(b"DIRC")?;
    let (version, count) = (number(&mut rest)?, number(&mut rest)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let before = rest.len();
        rest = rest.get(STAT_BYTES + hash_bytes..)?;
        let flags = u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
        let is_extended = version >= 3 && flags & EXTENDED != 0;
        rest = rest.get(if is_extended { 4 } else { 2 }..)?;
        if version == 4 {
            let dropped = variable_number(&mut rest)?;
            path.truncate(path.len().checked_sub(dropped)?);
        } else {
            path.clear();
        }
        let length = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
        // One NUL, or as many as fill the entry to a multiple of eight bytes.
        let padding = if version == 4 { 1 } else { 8 - (before - rest.len()) % 8 };
        rest = rest.get(padding..)?;
        visit(&path);
    }
    while let Some((name, after)) = rest.split_at_checked(4).filter(|_| rest.len() > hash_bytes) {
        rest = after;
        let size = number(&mut rest)? as usize;
        let (content, after) = rest.split_at_checked(size)?;
        if name == b"link" {
            return Some(content.get(..hash_bytes).map(<[u8]>::to_vec));
        }
        rest = after;
    }
    Some(None)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_be_bytes(*bytes))
}

/// Git's encoding of an offset: seven bits a byte, each continuation adding one.
fn variable_number(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test builds its trees by path")]
    #![expect(clippy::disallowed_types, reason = "git makes the index that is read")]

    use super::*;
    use std::process::Command;

    /// Makes an index of version 4: how much of the path before each one drops, and what it adds.
    fn make_index(dir: &Path, paths: &[(u8, &str)]) {
        let mut index = b"DIRC\0\0\0\x04".to_vec();
        index.extend_from_slice(&(paths.len() as u32).to_be_bytes());
        for (dropped, added) in paths {
            index.extend_from_slice(&[0; 62]);
            index.push(*dropped);
            index.extend_from_slice(added.as_bytes());
            index.push(0);
        }
        std::fs::write(dir.join("index"), index).unwrap();
    }

    #[test]
    fn a_directory_of_a_sparse_index_is_tracked_with_all_in_it() {
        let dir = tempfile::tempdir().unwrap();
        make_index(dir.path(), &[(0, "a-b"), (2, "/b/"), (3, "0"), (2, "c/d")]);
        let sought =
            ["a/b/c/.envrc", "a", "a/b", "a/bc", "a-b", "a-", "c", "c/d/e", "0", "z", "c/d", "a/b/c"];
        let mut bytes_left = MAX_INDEX_BYTES;
        let found = tracked(dir.path(), 20, &sought.map(str::as_bytes), &mut bytes_left);
        assert_eq!(found, [true, true, true, false, true, false, true, false, false, false, true, true]);
        let mut bytes_left = 10;
        let found = tracked(dir.path(), 20, &[b"a-b"], &mut bytes_left);
        assert_eq!(found, [false], "more than is read tracks nothing");
    }

    /// Compares with git itself, in every version of the format.
    #[test]
    fn what_git_tracks_is_what_the_index_says() {
        let git = |dir: &Path, line: &str| {
            let told = Command::new("sh").args(["-ec", line]).current_dir(dir).env("HOME", dir).output();
            told.is_ok_and(|told| told.status.success())
        };
        if !git(Path::new("/"), "git --version") {
            picoclaw_testing::skip!("git is not here");
            return;
        }
        const ADD: &str = "mkdir -p .vscode .github/workflows a/b && touch .envrc .vscode/a a/b/c a/b/cd file && git add -f .vscode a && git add -N file";
        for (why, hash, line) in [
            ("version 2", 20, "git init -q . && git config index.version 2"),
            ("version 3", 20, "git init -q . && git config index.version 3"),
            ("version 4", 20, "git init -q . && git config index.version 4"),
            ("sha256", 32, "git init -q --object-format=sha256 ."),
            ("split", 20, "git init -q . && touch first && git add first && git update-index --split-index"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            assert!(git(dir.path(), &format!("{line} && {ADD}")), "{why}");
            let git_dir = dir.path().join(".git");
            let wanted =
                [".vscode", ".envrc", "a/b", "a/b/c", "a/b/d", "a/b/cd", ".github/workflows", "file", "fil"];
            let mut bytes_left = MAX_INDEX_BYTES;
            let found = tracked(&git_dir, hash, &wanted.map(str::as_bytes), &mut bytes_left);
            assert_eq!(found, [true, false, true, true, false, true, false, true, false], "{why}");
            let index = std::fs::read(git_dir.join("index")).unwrap();
            for end in 0..index.len() {
                std::fs::write(git_dir.join("index"), &index[..end]).unwrap();
                tracked(&git_dir, hash, &[b".vscode"], &mut bytes_left);
            }
        }
    }
}
