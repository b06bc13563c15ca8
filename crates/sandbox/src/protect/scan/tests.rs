#![expect(clippy::disallowed_types, reason = "a shell builds the trees that are searched")]

use super::*;
use std::process::Command;

const INIT: &str = "mkdir -p .git/objects .git/refs .git/hooks; : > .git/HEAD; : > .git/config; ";

/// What is found in a tree that `line` makes: the paths of files, and of what is read-only.
fn found_in(line: &str) -> (Vec<String>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("project");
    let script = format!("mkdir project other && cd project && {line}");
    let made = Command::new("sh").args(["-ec", &script]).current_dir(dir.path()).status();
    assert!(made.is_ok_and(|made| made.success()), "`{line}`");
    let rules = ProtectRules::default();
    let scan = Scan::of(&root, &rules);
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let mounts = scan.mounts(&root, &rules);
    let read_only = mounts.iter().filter(|(_, (_, mode))| *mode == ExposeMode::ReadOnly);
    (scan.files.keys().map(text).collect(), read_only.map(|(path, _)| text(path)).collect())
}

#[track_caller]
fn assert_protected(rows: &[(&str, &str, &[&str])]) {
    for (why, line, want) in rows {
        let (_, read_only) = found_in(line);
        for path in *want {
            assert!(read_only.iter().any(|found| found == path), "{why}: `{path}`: {read_only:?}");
        }
    }
}

#[test]
fn a_project_that_looks_like_a_git_directory_is_searched() {
    let more = ": > .envrc; mkdir -p sub/.vscode; : > config; ";
    let want: &[&str] = &[".git/config", ".git/hooks", ".envrc", "sub/.vscode", "config"];
    for (why, twin) in [
        ("a project's", ": > HEAD; mkdir objects refs"),
        ("with links", ": > HEAD; mkdir o r; ln -s o objects; ln -s r refs"),
        ("of a linked work tree", ": > HEAD; echo .git > commondir"),
    ] {
        assert_protected(&[(why, &format!("{INIT}{more}{twin}"), want)]);
    }
    assert_protected(&[
        (
            "a bare one",
            "mkdir b; cd b; : > HEAD; mkdir o refs hooks; ln -s o objects; : > config",
            &["b/config", "b/hooks"],
        ),
        (
            "a project in its place of objects",
            ": > HEAD; mkdir -p objects/sub refs; : > objects/sub/.envrc",
            &["objects/sub/.envrc"],
        ),
    ]);
    let (files, _) = found_in(&format!("{INIT}: > config"));
    assert!(!files.contains(&"config".to_owned()), "a project like any other: {files:?}");
}

#[test]
fn twins_of_dot_git_hide_none() {
    for twin in [".GIT", ".gIT"] {
        let line = format!("mkdir {twin}; : > {twin}/config; {INIT}: > .envrc");
        let config = format!("{twin}/config");
        assert_protected(&[("both", &line, &[".git/config", ".git/hooks", ".envrc", &config])]);
    }
    assert_protected(&[("its own", "mkdir .GIT; : > .GIT/config", &[".GIT/config"])]);
}

#[test]
fn what_the_configuration_of_git_leads_to_is_found() {
    let linked = "mkdir -p main/.git/worktrees/w main/.git/objects main/.git/refs w/h; : > main/.git/HEAD
        echo '[core] hooksPath = h' > main/.git/config; : > main/.git/worktrees/w/HEAD
        echo ../.. > main/.git/worktrees/w/commondir; echo 'gitdir: ../main/.git/worktrees/w' > w/.git";
    let outside =
        "git=../other/.git; mkdir -p $git/worktrees/w w/h; echo '[core] hooksPath = h' > $git/config
        echo ../.. > $git/worktrees/w/commondir; echo 'gitdir: ../../other/.git/worktrees/w' > w/.git";
    let module = "m=.git/modules/sub; mkdir -p $m/objects $m/refs sub/h; : > $m/HEAD; : > $m/x
        printf '[core]\\nhooksPath = h\\n[include]\\npath = x' > $m/config; echo 'gitdir: ../.git/modules/sub' > sub/.git";
    let vendored = "m=.git/modules/vendor/lib; mkdir -p $m vendor/lib/h
        printf '[core]\\nworktree = ../../../../vendor/lib\\nhooksPath = h' > $m/config";
    let named = "for m in a/logs info lfs refs; do mkdir -p .git/modules/$m; : > .git/modules/$m/config; done
        mkdir .git/modules/objects; : > .git/modules/HEAD";
    let link = "mv .git store; ln -s store .git; mkdir h; echo '[core] hooksPath = h' > store/config";
    assert_protected(&[
        ("a linked work tree's", linked, &["w/h", "w/.git", "main/.git/worktrees/w/commondir"]),
        ("of a repository outside", outside, &["w/h"]),
        ("a submodule's", &format!("{INIT}{module}"), &["sub/h", ".git/modules/sub/x"]),
        ("a submodule's among dependencies", &format!("{INIT}{vendored}"), &["vendor/lib/h"]),
        (
            "submodules with names of git's own",
            &format!("{INIT}{named}"),
            &[
                ".git/modules/a/logs/config",
                ".git/modules/info/config",
                ".git/modules/lfs/config",
                ".git/modules/refs/config",
            ],
        ),
        ("a link in its place", &format!("{INIT}{link}"), &["h", "store/config"]),
        ("a comment", &format!("{INIT}mkdir h; echo '[core] hooksPath = h # x' > .git/config"), &["h"]),
        (
            "of one work tree",
            &format!("{INIT}mkdir h; echo '[core] hooksPath = h' > .git/config.worktree"),
            &["h"],
        ),
        (
            "an include of an include",
            &format!(
            "{INIT}mkdir d h; echo '[include] path = ../d/a' > .git/config; echo '[include] path = b' > d/a
            echo '[include] path = c' > d/b; echo '[core] hooksPath = h' > d/c"
        ),
            &["d/a", "d/b", "d/c", "h"],
        ),
        (
            "a file that includes itself",
            &format!("{INIT}echo '[include] path = config' > .git/config"),
            &[".git/config"],
        ),
    ]);
    let (_, read_only) = found_in(&format!("{INIT}echo '[core] hooksPath = ..' > .git/config; mkdir sub"));
    assert_eq!(read_only, [".git/config", ".git/hooks"], "git still works");
    let (_, read_only) = found_in(&format!("{INIT}mv .git store; ln -s store .git"));
    assert_eq!(read_only, ["store/config", "store/hooks"], "git still works behind a link");
}
