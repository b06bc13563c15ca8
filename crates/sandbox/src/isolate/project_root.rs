//! Finds the root of the project that a directory belongs to: the enclosing git work tree, or the
//! directory whose manifest holds several packages.
//!
//! Invariant: what a command could write in its own directory never widens what the next one sees.
//! So whatever is named `.git` ends the search, the directories on the way have one owner and one
//! file system, and a git directory elsewhere counts only if it names the work tree in turn and
//! lies where git puts one: a command makes any directory that it may write a git directory.

use super::git_config::read_git_config;
use super::git_settings::{GitSetting, git_settings};
use crate::printable::printable_path;
use crate::shell_word;
use std::path::{Path, PathBuf};

/// The root of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRoot {
    /// Its path.
    pub path: PathBuf,
    /// What tells that it is one.
    pub kind: RootKind,
}

/// What tells that a directory is the root of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootKind {
    /// It is a git work tree. The git directory is named if it lies elsewhere.
    WorkTree(Option<PathBuf>),
    /// The manifest of this name holds several packages.
    Manifest(&'static str),
}

/// A root that is found and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not taken as the project root: {why}", printable_path(path))]
pub struct RootRefused {
    /// Its path.
    pub path: PathBuf,
    /// Why not.
    pub why: String,
}

/// Manifests, and the text that tells that one holds several packages.
const MANIFESTS: [(&str, &str); 5] = [
    ("Cargo.toml", "[workspace"),
    ("package.json", "\"workspaces\""),
    ("pnpm-workspace.yaml", ""),
    ("go.work", ""),
    ("pyproject.toml", "[tool.uv.workspace]"),
];

/// The root of the project that the canonical `dir` belongs to. `fault` says why a directory can be
/// no root.
pub fn find_project_root(
    dir: &Path,
    fault: &dyn Fn(&Path) -> Option<String>,
) -> Result<Option<ProjectRoot>, RootRefused> {
    let Some(place) = Place::of(dir) else { return Ok(None) };
    let mut manifest = None;
    for path in dir.ancestors() {
        let is_same = Place::of(path) == Some(place);
        if let Ok(dot_git) = path.join(".git").symlink_metadata() {
            let git_dir = if path == dir && !dot_git.is_file() {
                // The directory itself is shown, whatever its `.git` is.
                Ok(None)
            } else if !is_same {
                Err("it has another owner or file system".to_owned())
            } else if let Some(why) = fault(path).filter(|_| path != dir) {
                Err(why)
            } else {
                outer_git_dir(path, place, fault)
            };
            let path = path.to_owned();
            return match git_dir {
                Ok(git_dir) => Ok(Some(ProjectRoot { path, kind: RootKind::WorkTree(git_dir) })),
                Err(why) => Err(RootRefused { path, why }),
            };
        }
        if !is_same {
            break;
        }
        if manifest.is_none() && path != dir && fault(path).is_none() {
            let found = manifest_of(path).map(RootKind::Manifest);
            manifest = found.map(|kind| ProjectRoot { path: path.to_owned(), kind });
        }
    }
    Ok(manifest)
}

/// The file system and the owner of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u64, u32);

impl Place {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        path.symlink_metadata().ok().map(|meta| Self(meta.dev(), meta.uid()))
    }

    /// A drive is one file system, and its owners are not compared.
    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().map(|_| Self(0, 0))
    }
}

/// The git directory of a work tree, if it lies elsewhere.
fn outer_git_dir(
    work_tree: &Path,
    place: Place,
    fault: &dyn Fn(&Path) -> Option<String>,
) -> Result<Option<PathBuf>, String> {
    let GitDir { common, is_usual, .. } = git_dir(work_tree, place)?;
    // One that lies in the work tree is shown with it.
    if common.starts_with(work_tree) {
        return Ok(None);
    }
    let shown = printable_path(&common);
    if let Some(why) = fault(&common) {
        return Err(format!("of its git directory `{shown}`: {why}"));
    }
    if is_usual {
        return Ok(Some(common));
    }
    let [root, git] = [work_tree, &common].map(|path| shell_word(&path.to_string_lossy()));
    let flags = format!("`picoclaw run --root {root} --rw {git}` shows both");
    Err(format!("its git directory `{shown}` does not lie where git puts one; {flags}"))
}

/// What the `.git` of a work tree leads to.
struct GitDir {
    own: PathBuf,
    /// The one that it shares with other work trees, or itself.
    common: PathBuf,
    /// Whether it lies where git puts such a one.
    is_usual: bool,
}

/// The git directory of a work tree that it names in turn.
fn git_dir(work_tree: &Path, place: Place) -> Result<GitDir, &'static str> {
    let dot_git = work_tree.join(".git");
    if Place::of(&dot_git) != Some(place) {
        return Err("its `.git` has another owner or file system");
    }
    if !dot_git.is_file() || dot_git.is_symlink() {
        let is_own = !dot_git.is_symlink() && is_git_dir(&dot_git);
        let git_dir = || GitDir { own: dot_git.clone(), common: dot_git.clone(), is_usual: true };
        return is_own.then(git_dir).ok_or("its `.git` is no git directory");
    }
    let resolve = |from: &Path, text: &str| from.join(text.trim()).canonicalize().ok();
    let text = read_git_config(&dot_git).unwrap_or_default();
    let git_dir = text.strip_prefix("gitdir:").and_then(|path| resolve(work_tree, path));
    let own = git_dir.ok_or("its `.git` names no directory")?;
    let common = match read_git_config(&own.join("commondir")) {
        // A linked work tree: its git directory names it by its `.git`, and lies in the common one.
        Some(common) => {
            let back = read_git_config(&own.join("gitdir")).and_then(|path| resolve(&own, &path));
            let common = resolve(&own, &common).filter(|_| back.as_deref() == Some(&dot_git));
            common.filter(|common| own.parent() == Some(&common.join("worktrees")))
        }
        // A submodule: the configuration of its git directory names it.
        None => {
            let config = read_git_config(&own.join("config")).unwrap_or_default();
            let back = core_worktree(&config).and_then(|path| resolve(&own, &path));
            (back.as_deref() == Some(work_tree)).then(|| own.clone())
        }
    };
    let common = common.ok_or(
        "its `.git` names a git directory that does not name it in turn; `picoclaw run --root DIR --rw GITDIR` shows both",
    )?;
    if Place::of(&common) != Some(place) || !is_git_dir(&common) {
        return Err("its git directory has another owner or file system");
    }
    let is_usual =
        if own == common { lies_in_modules(&own, work_tree, place) } else { is_named_like_one(&common) };
    Ok(GitDir { own, common, is_usual })
}

/// Whether a git directory of linked work trees has a usual name, also a bare one or that of a
/// submodule. A command cannot rename what it is shown.
fn is_named_like_one(common: &Path) -> bool {
    common.ancestors().any(|path| {
        let name = path.file_name().unwrap_or_default();
        let part = common.strip_prefix(path).ok().and_then(|below| below.iter().next());
        (name == ".bare" || name.as_encoded_bytes().ends_with(b".git"))
            && part.is_none_or(|part| part == "modules" || part == "worktrees")
    })
}

/// Whether the git directory of a submodule lies in that of the work tree around it.
fn lies_in_modules(own: &Path, work_tree: &Path, place: Place) -> bool {
    let mut above = work_tree.ancestors().skip(1);
    let above = above.find(|path| path.join(".git").symlink_metadata().is_ok());
    let git_dir =
        above.filter(|path| Place::of(path) == Some(place)).and_then(|path| git_dir(path, place).ok());
    git_dir.is_some_and(|git_dir| {
        git_dir.is_usual
            && [git_dir.own, git_dir.common].iter().any(|dir| own.starts_with(dir.join("modules")))
    })
}

/// Whether git would take the directory for a git directory.
pub(crate) fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok()
        && path.join("objects").is_dir()
        && path.join("refs").is_dir()
}

/// `core.worktree` of a git configuration.
fn core_worktree(text: &str) -> Option<String> {
    let is_it = |setting: &GitSetting| {
        setting.section == "core" && setting.subsection.is_none() && setting.name == "worktree"
    };
    let setting = git_settings(text.as_bytes()).into_iter().rfind(is_it)?;
    String::from_utf8(setting.value?).ok()
}

fn manifest_of(dir: &Path) -> Option<&'static str> {
    let holds = |(name, marker): &(&str, &str)| {
        read_git_config(&dir.join(name)).is_some_and(|text| {
            text.lines().any(|line| line.trim_start().contains(marker)) || marker.is_empty()
        })
    };
    MANIFESTS.iter().find(|manifest| holds(manifest)).map(|(name, _)| *name)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A directory with an outer repository at `top`, one of a victim at `victim`, and `top/a/b`.
    struct Fixture(tempfile::TempDir);

    impl Fixture {
        fn new() -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(fixture.path("top/a/b")).unwrap();
            fixture.repository("top/.git");
            fixture.repository("victim/.git");
            fixture
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let text = text.replace("{dir}", self.path("").to_str().unwrap().trim_end_matches('/'));
            std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            std::fs::write(self.path(name), text).unwrap();
        }

        fn repository(&self, name: &str) {
            for below in ["objects", "refs"] {
                std::fs::create_dir_all(self.path(name).join(below)).unwrap();
            }
            self.write(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
        }

        fn find(&self, dir: &str) -> Result<Option<ProjectRoot>, RootRefused> {
            find_project_root(&self.path(dir), &|path| (path == self.0.path()).then(|| "no".to_owned()))
        }

        /// The git directory outside of the work tree at `dir`.
        fn outer(&self, dir: &str) -> Option<PathBuf> {
            match self.find(dir) {
                Ok(Some(ProjectRoot { kind: RootKind::WorkTree(outer), .. })) => outer,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_nearest_work_tree_is_the_root() {
        let fixture = Fixture::new();
        let root = |dir| fixture.find(dir).unwrap().map(|root| root.path);
        for dir in ["top", "top/a", "top/a/b"] {
            assert_eq!(root(dir), Some(fixture.path("top")), "{dir}");
        }
        fixture.repository("top/a/.git");
        assert_eq!(root("top/a/b"), Some(fixture.path("top/a")));
        std::fs::create_dir(fixture.path("alone")).unwrap();
        assert_eq!(root("alone"), None);
    }

    #[test]
    fn a_spoilt_git_directory_does_not_widen_the_view() {
        let fixture = Fixture::new();
        let dot_git = fixture.path("top/a/.git");
        std::fs::create_dir(&dot_git).unwrap();
        assert!(fixture.find("top/a/b").is_err(), "an empty directory");
        std::fs::remove_dir(&dot_git).unwrap();
        symlink(fixture.path("victim/.git"), &dot_git).unwrap();
        assert!(fixture.find("top/a/b").is_err(), "a link");
        std::fs::remove_file(&dot_git).unwrap();
        assert!(fixture.find("top/a/b").is_ok(), "the control");
    }

    #[test]
    fn a_linked_work_tree_brings_a_git_directory_that_names_it() {
        let fixture = Fixture::new();
        fixture.write("side/.git", "gitdir: {dir}/top/.git/worktrees/side\n");
        fixture.write("top/.git/worktrees/side/commondir", "../..\n");
        fixture.write("top/.git/worktrees/side/gitdir", "{dir}/side/.git\n");
        assert_eq!(fixture.outer("side"), Some(fixture.path("top/.git")));
        fixture.write("top/.git/worktrees/side/gitdir", "{dir}/other/.git\n");
        assert!(fixture.find("side").is_err(), "it names another work tree");
    }

    #[test]
    fn a_submodule_brings_a_git_directory_that_names_it() {
        let fixture = Fixture::new();
        fixture.repository("top/.git/modules/a");
        fixture.write("top/a/.git", "gitdir: ../.git/modules/a\n");
        fixture.write("top/.git/modules/a/config", "[core]\n\tworktree = ../../../a\n");
        assert_eq!(fixture.outer("top/a"), Some(fixture.path("top/.git/modules/a")));
        fixture.write("top/.git/modules/a/config", "[core]\n\tworktree = ../../..\n");
        assert!(fixture.find("top/a").is_err(), "it names another work tree");
    }

    /// A command had it for writing once.
    #[test]
    fn a_git_directory_at_any_other_place_brings_nothing() {
        let submodule =
            vec![("mine/.git", "gitdir: ../{at}\n"), ("{at}/config", "[core]\nworktree = {dir}/mine\n")];
        let work_tree = vec![
            ("mine/.git", "gitdir: ../{at}/worktrees/x\n"),
            ("{at}/worktrees/x/gitdir", "{dir}/mine/.git\n"),
            ("{at}/worktrees/x/commondir", "../..\n"),
        ];
        for (at, files, is_shown) in [
            ("data", &submodule, false),
            ("data/modules/x", &submodule, false),
            ("top/.git/modules/x", &submodule, false),
            ("data", &work_tree, false),
            ("data/git", &work_tree, false),
            ("top.git/data", &work_tree, false),
            ("bare.git", &work_tree, true),
            ("data/.bare", &work_tree, true),
            ("top/.git/modules/x", &work_tree, true),
        ] {
            let fixture = Fixture::new();
            fixture.repository(at);
            files
                .iter()
                .for_each(|(name, text)| fixture.write(&name.replace("{at}", at), &text.replace("{at}", at)));
            let told = fixture.find("mine");
            assert_eq!(told.is_ok(), is_shown, "{at}: {told:?}");
            let names_flag = |refused: &RootRefused| refused.why.contains("--rw ");
            assert!(told.is_ok() || told.as_ref().is_err_and(names_flag), "{at}: {told:?}");
            let fault = |path: &Path| (path == fixture.path(at)).then(|| "it is a home".to_owned());
            assert!(find_project_root(&fixture.path("mine"), &fault).is_err(), "{at}: a fault");
        }
    }

    #[test]
    fn a_file_that_names_another_repository_brings_nothing() {
        for (why, files) in [
            ("the repository itself", vec![("mine/.git", "gitdir: {dir}/victim/.git\n")]),
            (
                "a git directory of its own, whose common one is the victim's",
                vec![
                    ("mine/.git", "gitdir: {dir}/mine/fake/worktrees/x\n"),
                    ("mine/fake/worktrees/x/gitdir", "{dir}/mine/.git\n"),
                    ("mine/fake/worktrees/x/commondir", "{dir}/victim/.git\n"),
                ],
            ),
            ("no git directory at all", vec![("mine/.git", "gitdir: {dir}/victim\n")]),
            ("nothing", vec![("mine/.git", "gitdir: /nowhere\n")]),
            ("no path", vec![("mine/.git", "")]),
        ] {
            let fixture = Fixture::new();
            files.iter().for_each(|(name, text)| fixture.write(name, text));
            assert!(fixture.find("mine").is_err(), "{why}");
        }
    }

    #[test]
    fn a_root_that_is_no_place_for_a_workspace_is_refused() {
        let fixture = Fixture::new();
        let top = fixture.path("top");
        let fault = |path: &Path| (path == top).then(|| "it is a home directory".to_owned());
        let refused = find_project_root(&fixture.path("top/a"), &fault).unwrap_err();
        assert!(refused.to_string().ends_with("it is a home directory"), "{refused}");
        assert!(find_project_root(&fixture.path("top/a"), &|_| None).is_ok(), "the control");
    }

    #[test]
    fn a_manifest_of_several_packages_is_found() {
        for (name, text, want) in [
            ("Cargo.toml", "[workspace]\nmembers = []\n", true),
            ("Cargo.toml", "[package]\nname = \"a\"\n", false),
            ("package.json", "{\"workspaces\": [\"a\"]}", true),
            ("package.json", "{\"name\": \"a\"}", false),
            ("pnpm-workspace.yaml", "", true),
            ("go.work", "go 1.20\n", true),
            ("pyproject.toml", "[tool.uv.workspace]\n", true),
            ("pyproject.toml", "[project]\n", false),
        ] {
            let fixture = Fixture::new();
            fixture.write(&format!("many/{name}"), text);
            std::fs::create_dir(fixture.path("many/one")).unwrap();
            let found = fixture.find("many/one").unwrap();
            assert_eq!(
                found.is_some_and(|root| root.kind == RootKind::Manifest(name)),
                want,
                "{name}: {text}"
            );
            assert_eq!(fixture.find("many"), Ok(None), "{name}: the directory itself needs no root");
        }
    }
}
