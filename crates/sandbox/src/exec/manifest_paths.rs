//! Paths beside a project that its manifests name.

use crate::os_file::read_regular_file;
use std::ffi::OsString;
use std::path::Path;

/// Files of a project that name others, such as the directory of a dependency.
const MANIFESTS: [&str; 9] = [
    "CMakeLists.txt",
    "Cargo.toml",
    "Makefile",
    "go.mod",
    "go.work",
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "tsconfig.json",
];

/// The largest that is read.
const MAX_BYTES: u64 = 256 << 10;

/// Existing paths that the manifests in `dir` name and that begin with `../`.
pub(super) fn manifest_paths(dir: &Path) -> Vec<OsString> {
    let mut paths = Vec::new();
    for name in MANIFESTS {
        let text = read_regular_file(&dir.join(name), MAX_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let is_end = |c: char| c.is_whitespace() || "\"'`=:,;()[]{}<>$#".contains(c);
        let beside = text.split(is_end).filter(|word| word.starts_with("../") && !word.ends_with(".."));
        paths.extend(beside.filter(|word| dir.join(word).exists()).map(OsString::from));
    }
    paths
}

/// Repositories of the host that the one in `root` names: its remotes, and those whose objects it
/// borrows.
pub fn git_paths(root: &Path) -> Vec<OsString> {
    let read = |name: &str| read_regular_file(&root.join(".git").join(name), MAX_BYTES).unwrap_or_default();
    let text = [read("config"), read("objects/info/alternates")].join(&b'\n');
    let text = String::from_utf8_lossy(&text);
    let paths = text.lines().filter_map(|line| line.rsplit('=').next().map(str::trim));
    let paths = paths.map(|path| path.strip_suffix("/objects").unwrap_or(path));
    let paths = paths.map(|path| path.strip_suffix("/.git").unwrap_or(path));
    let named = paths.filter(|path| path.starts_with('/') || path.starts_with("../"));
    named.map(|path| root.join(path)).filter(|path| path.exists()).map(OsString::from).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
mod tests {
    use super::*;

    #[test]
    fn existing_paths_beside_the_project_are_found() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("project");
        for made in ["project", "lib", "a", "p"] {
            std::fs::create_dir(parent.path().join(made)).unwrap();
        }
        for (name, text) in [
            ("Makefile", "include ../missing.mk\nX = $(wildcard ../..)\n"),
            ("Cargo.toml", "[dependencies]\nlib = { path = \"../lib\" }\nown = { path = \"own/../x\" }\n"),
            ("go.mod", "module m\nreplace example.com/a => ../a\n"),
            ("package.json", "{\"dependencies\": {\"p\": \"file:../p\"}}"),
            ("notes.txt", "../no"),
        ] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        assert_eq!(manifest_paths(&dir), ["../lib", "../a", "../p"].map(OsString::from));
    }

    #[test]
    fn repositories_of_the_host_are_found() {
        let parent = tempfile::tempdir().unwrap();
        let (root, path) = (parent.path().join("project"), |name: &str| parent.path().join(name));
        for made in ["project/.git/objects/info", "remote.git", "store/.git/objects"] {
            std::fs::create_dir_all(path(made)).unwrap();
        }
        let config =
            "[remote \"a\"]\n\turl = ../remote.git\n[remote \"b\"]\n\turl = /no/such\n\turl=git@h:r\n";
        std::fs::write(root.join(".git/config"), config).unwrap();
        let store = path("store/.git/objects").into_os_string().into_string().unwrap();
        std::fs::write(root.join(".git/objects/info/alternates"), format!("{store}\n")).unwrap();
        let found: Vec<_> =
            git_paths(&root).iter().map(|path| Path::new(path).canonicalize().unwrap()).collect();
        assert_eq!(found, ["remote.git", "store"].map(|name| path(name).canonicalize().unwrap()));
    }
}
