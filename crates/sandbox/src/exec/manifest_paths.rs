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
}
