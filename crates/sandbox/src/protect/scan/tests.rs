#![expect(clippy::disallowed_types, reason = "a shell builds the trees that are searched")]

use super::*;
use std::process::Command;

const INIT: &str = "mkdir -p .git/objects .git/refs .git/hooks; : > .git/HEAD; : > .git/config; ";

/// What a search finds: the paths of files, and of what is read-only.
struct Outcome {
    files: Vec<String>,
    read_only: Vec<String>,
    is_complete: bool,
}

/// Searches the tree that `line` makes in `project`, beside `other` and the operator's `home`.
fn found_in(line: &str) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let (root, home) = (top.join("project"), top.join("home"));
    let script = format!("mkdir project other home && cd project && {line}");
    let mut shell = Command::new("sh");
    shell.args(["-ec", &script]).current_dir(dir.path()).env("HOME", &home).env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(shell.status().is_ok_and(|made| made.success()), "`{line}`");
    let rules = ProtectRules::default();
    let scan = Scan::of(&root, &rules, &home);
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let mounts = scan.mounts(&root, &rules);
    let read_only = mounts.iter().filter(|(_, (_, mode))| *mode == ExposeMode::ReadOnly);
    Outcome {
        files: scan.files.keys().map(text).collect(),
        read_only: read_only.map(|(path, _)| text(path)).collect(),
        is_complete: scan.is_complete,
    }
}

#[track_caller]
fn assert_protected(rows: &[(&str, &str, &[&str])]) {
    for (why, line, want) in rows {
        let read_only = found_in(line).read_only;
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
    let files = found_in(&format!("{INIT}: > config")).files;
    assert!(!files.contains(&"config".to_owned()), "a project like any other: {files:?}");
}

/// A command renames a part of it, and the next one puts it back.
#[test]
fn a_git_directory_with_parts_missing_is_protected() {
    let hold = "mkdir -p $at/hooks; : > $at/config";
    for (why, at, parts) in [
        (".git without HEAD", ".git", "mkdir -p $at/objects $at/refs"),
        (".git with a directory for HEAD", ".git", "mkdir -p $at/HEAD $at/objects $at/refs"),
        (".git with nothing else", ".git", "mkdir $at"),
        ("a bare one without HEAD", "b", "mkdir -p $at/objects $at/refs"),
        ("a bare one with a directory for HEAD", "b", "mkdir -p $at/HEAD $at/refs"),
        ("a bare one with files for directories", "b", "mkdir $at; : > $at/objects; : > $at/refs"),
        ("one that is known by its name", "b.git", "mkdir $at"),
    ] {
        let (config, hooks) = (format!("{at}/config"), format!("{at}/hooks"));
        assert_protected(&[(why, &format!("at={at}; {parts}; {hold}"), &[&config, &hooks])]);
    }
    let plain = found_in("mkdir -p b/hooks b/objects c.git/.git c.git/hooks; : > b/config; : > c.git/config");
    assert!(plain.read_only.is_empty(), "the control: projects: {:?}", plain.read_only);
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
        "git=../other/.git; mkdir -p $git/objects $git/refs $git/worktrees/w w/h; : > $git/HEAD; echo '[core] hooksPath = h' > $git/config
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
            "from the home",
            &format!(
                "{INIT}mkdir h; echo '[include] path = ~/.gitconfig-work' > .git/config
            echo '[core] hooksPath = ~/../project/h' > ~/.gitconfig-work"
            ),
            &["h"],
        ),
        (
            "a file that includes itself",
            &format!("{INIT}echo '[include] path = config' > .git/config"),
            &[".git/config"],
        ),
    ]);
    let read_only =
        found_in(&format!("{INIT}echo '[core] hooksPath = ..' > .git/config; mkdir sub")).read_only;
    assert_eq!(read_only, [".git/config", ".git/hooks"], "git still works");
    let read_only = found_in(&format!("{INIT}mv .git store; ln -s store .git")).read_only;
    assert_eq!(read_only, ["store/config", "store/hooks"], "git still works behind a link");
}

/// What git tracks stays writable: git would leave the old files behind without an error.
#[test]
fn what_a_submodule_tracks_is_not_read_only() {
    if !Command::new("git").arg("--version").output().is_ok_and(|told| told.status.success()) {
        picoclaw_testing::skip!("git is not here");
        return;
    }
    let forged = "git init -q .; mkdir xgit; : > xgit/inc; git add xgit/inc; sed -i s/xgit/.git/ .git/index
        : > .git/inc; git config include.path inc";
    assert_protected(&[("an index that no git writes", forged, &[".git/inc"])]);
    let git = "export GIT_CONFIG_GLOBAL=$HOME/.gitconfig; git config --global user.name t; git config --global user.email t@t
        git config --global protocol.file.allow always; git config --global init.defaultBranch main";
    let made = "git init -q ../other/lib; (cd ../other/lib; mkdir .husky; echo x > .husky/pre-commit; : > inc; git add -A; git commit -qm x)
        git init -q .";
    let set = "git -C $at config core.hooksPath .husky; git -C $at config include.path $PWD/$at/inc";
    let worktree = "mkdir .husky; : > .husky/h; git add -A; git commit -qm x; git config core.hooksPath $PWD/.husky; git worktree add -q w";
    for (why, line, tracked) in [
        (
            "a submodule",
            format!("at=sub; git submodule --quiet add ../other/lib sub; {set}"),
            ["sub/.husky", "sub/inc"],
        ),
        (
            "among dependencies",
            format!("at=vendor/lib; git submodule --quiet add ../other/lib vendor/lib; {set}"),
            ["vendor/lib/.husky", "vendor/lib/inc"],
        ),
        ("the main work tree, from a linked one", worktree.to_owned(), [".husky", "w/.husky"]),
    ] {
        let outcome = found_in(&format!("{git}; {made}; {line}"));
        for path in tracked {
            assert!(
                !outcome.read_only.contains(&path.to_owned()),
                "{why}: `{path}`: {:?}",
                outcome.read_only
            );
        }
        assert!(outcome.read_only.contains(&".git/config".to_owned()), "{why}: {:?}", outcome.read_only);
        assert!(outcome.is_complete, "{why}");
    }
}

/// A child names any path of the host in a setting, and the launcher may have more rights.
#[test]
fn a_configuration_elsewhere_is_not_read() {
    for (why, line, want) in [
        ("the control", "echo '[include] path = ../x' > .git/config; cp $hooks x", true),
        (
            "another directory",
            "echo '[include] path = ../../other/x' > .git/config; cp $hooks ../other/x",
            false,
        ),
        (
            "by a link",
            "echo '[include] path = x' > .git/config; cp $hooks ../other/x; ln -s ../../other/x .git/x",
            false,
        ),
        ("a file of the home", "echo '[include] path = ~/x' > .git/config; cp $hooks ~/x", false),
        ("no git directory", "echo 'gitdir: ../../other' > sub/.git; cp $hooks ../other/config", false),
        ("no shared one", "echo $PWD/../other > .git/commondir; cp $hooks ../other/config", false),
    ] {
        let hooks = "hooks=$PWD/../hooks; echo \"[core] hooksPath = $PWD/h\" > $hooks; mkdir h sub";
        let outcome = found_in(&format!("{INIT}{hooks}; {line}"));
        assert_eq!(outcome.read_only.contains(&"h".to_owned()), want, "{why}: {:?}", outcome.read_only);
    }
}

#[test]
fn names_of_the_list_are_found_among_any_number_of_others() {
    let many = "mkdir -p p/.github/workflows q; cd q; seq 100100 | xargs touch";
    let outcome = found_in(many);
    assert!(!outcome.is_complete);
    assert_eq!(outcome.read_only, ["p/.github/workflows"]);
}

#[test]
fn empty_directories_of_other_letters_take_no_mount_of_another() {
    let decoys =
        ".{v,V}{s,S}{c,C}{o,O}{d,D}{e,E} .{c,C}{u,U}{r,R}{s,S}{o,O}{r,R} .{c,C}{l,L}{a,A}{u,U}{d,D}{e,E}";
    let outcome = found_in(&format!("bash -c 'mkdir {decoys}'; {INIT}: > .envrc"));
    for path in [".git/config", ".git/hooks", ".envrc", ".vscode"] {
        assert!(outcome.read_only.iter().any(|found| found == path), "{path}: {:?}", outcome.read_only);
    }
    assert!(outcome.files.contains(&".VSCODE".to_owned()), "it is reported: {:?}", outcome.files);
}

#[test]
fn a_search_has_bounds() {
    let logs = "mkdir -p $at/logs/refs; : > $at/HEAD; (cd $at/logs/refs; seq 1100 | xargs mkdir); cd $at";
    let hooks = "seq 40 | sed 's/^/[core] hooksPath = h/' > .git/config";
    let deep = "for i in 0 1 2 3 4 5; do echo \"[include] path = i$((i+1))\" > .git/i$i; done; cp .git/i0 .git/config";
    let modules = "seq 30 | sed 's/^/[core] hooksPath = h/' > inc; mkdir .git/modules; cd .git/modules
        seq 900 | xargs mkdir; echo '[include] path = ../../../inc' > 1/config
        seq 2 900 | sed 's/.*/&\\/config/' | xargs -n 1 cp 1/config";
    for (why, line, want) in [
        (
            "logs of a linked work tree",
            format!("{INIT}at=.git/worktrees/w; {logs}; echo ../.. > commondir"),
            true,
        ),
        ("logs of a bare repository", format!("at=b; {logs}; mkdir objects refs; : > config"), true),
        ("logs of what may be a project", format!("at=b; {logs}; mkdir objects refs"), false),
        ("settings of one file", format!("{INIT}{hooks}"), false),
        ("a large file", format!("{INIT}head -c 1100000 /dev/zero > .git/config"), false),
        ("files that include files", format!("{INIT}{deep}"), false),
        ("what settings lead to", format!("{INIT}{modules}"), false),
        ("not all of it", format!("{INIT}{}", modules.replace("900", "100")), true),
    ] {
        assert_eq!(found_in(&line).is_complete, want, "{why}");
    }
}
