//! C7: one project, one home: what one project's command plants is not run or read by another's.

use super::{Bwrap, Faults, Landlock, Native, Project, is_here, outside};
use crate::test_instance::{Ran, ran};
use picoclaw_testing::wait_until;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Puts a file into every private directory that the environment names; or tells which of them are there.
const PLANT: &str = r#"for name in HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_HOME TMPDIR CARGO_HOME NPM_CONFIG_CACHE PIP_CACHE_DIR GOPATH UV_CACHE_DIR; do
    eval "dir=\$$name"; test -n "$dir" && mkdir -p "$dir" 2>/dev/null && echo planted > "$dir/planted" 2>/dev/null && echo $name
done; true"#;
const FIND: &str = r#"for name in HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_HOME TMPDIR CARGO_HOME NPM_CONFIG_CACHE PIP_CACHE_DIR GOPATH UV_CACHE_DIR; do
    eval "dir=\$$name"; test -n "$dir" && test -e "$dir/planted" && echo $name
done; true"#;

fn sh_in(project: &Project, dir: &Path, line: &str) -> Ran {
    let mut command = project.command(&[], &["sh", "-c", line]);
    let told = ran(command.current_dir(dir).output().unwrap());
    assert_eq!(told.code, 0, "`{line}`: {told:?}");
    told
}

#[test]
fn two_projects_do_not_share_a_home() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let other = project.instance.dir().join("other");
        // The same name, elsewhere.
        let namesake = project.instance.dir().join("deep/project");
        std::fs::create_dir(&other).unwrap();
        std::fs::create_dir_all(&namesake).unwrap();
        let planted = sh_in(&project, &project.dir(), PLANT).stdout;
        assert!(planted.contains("HOME\n") && planted.contains("XDG_CONFIG_HOME\n"), "{level:?}: {planted}");
        let home = sh_in(&project, &project.dir(), "echo $HOME").stdout;
        for dir in [&other, &namesake] {
            let found = sh_in(&project, dir, FIND).stdout.replace('\n', " ");
            faults.check(found.is_empty(), format!("{level:?}: {}: {found}", dir.display()));
            // Nor by its name: the homes of others are not in the view, or cannot be read.
            let line = format!("cat {}/planted 2>/dev/null; true", home.trim());
            let read = sh_in(&project, dir, &line).stdout;
            faults.check(read.is_empty(), format!("{level:?}: {}: it read {read}", dir.display()));
        }
    }
}

#[test]
fn a_git_configuration_of_one_project_is_not_another_s() {
    if !is_here("git") {
        return;
    }
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let other = project.instance.dir().join("other");
        std::fs::create_dir(&other).unwrap();
        // In a home of its own this may be written; git asks `core.fsmonitor` at each `status`.
        let plant = "git config --file ~/.gitconfig core.fsmonitor 'touch ran; false' && git init -q . && git status; test -e ran";
        sh_in(&project, &project.dir(), plant);
        sh_in(&project, &other, "git init -q . && git status");
        faults.check(!other.join("ran").exists(), format!("{level:?}: another project's program has run"));
    }
}

#[test]
fn a_project_keeps_its_home() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        assert!(is_here("git"));
        std::fs::create_dir_all(project.dir().join("sub/dir")).unwrap();
        symlink(project.dir(), project.instance.dir().join("link")).unwrap();
        sh_in(&project, &project.dir(), "echo kept > ~/kept");
        for dir in [project.dir(), project.instance.dir().join("link")] {
            assert_eq!(sh_in(&project, &dir, "cat ~/kept").stdout, "kept\n", "{level:?}: {}", dir.display());
        }
    }
}

/// The home of a project, as its commands see it.
fn home_of(project: &Project, dir: &Path) -> PathBuf {
    PathBuf::from(sh_in(project, dir, "echo $HOME").stdout.trim())
}

fn clean(project: &Project, words: &[&str]) -> Ran {
    let told = project.instance.run(&[&["clean"], words].concat());
    assert_eq!(project.instance.run(&["audit", "verify"]).code, 0);
    told
}

#[test]
fn clean_removes_the_homes_of_projects() {
    let Some(project) = Project::new(Native) else { return };
    let (gone, other) = (project.instance.dir().join("gone"), project.instance.dir().join("other"));
    for dir in [&gone, &other] {
        std::fs::create_dir(dir).unwrap();
    }
    let homes = [project.dir(), gone.clone(), other.clone()].map(|dir| {
        sh_in(&project, &dir, "echo kept > ~/kept; mkdir ~/closed; echo > ~/closed/x; chmod 0 ~/closed");
        home_of(&project, &dir)
    });
    std::fs::remove_dir(&gone).unwrap();
    let there = || homes.each_ref().map(|home| home.join("kept").exists());
    let told = clean(&project, &["--dry-run"]);
    assert_eq!((told.code, there()), (0, [true; 3]), "nothing was removed: {told:?}");
    for (home, what) in homes.iter().zip(["kept", "would remove", "kept"]) {
        let line = format!("{what}  {}", home.parent().unwrap().display());
        assert!(told.stdout.contains(&line), "`{line}`: {told:?}");
    }
    let told = clean(&project, &[]);
    assert_eq!((told.code, there()), (0, [true, false, true]), "only that of the one that is gone: {told:?}");
    assert!(told.stdout.contains("freed ") && !homes[1].parent().unwrap().exists(), "{told:?}");
    let told = clean(&project, &[other.to_str().unwrap()]);
    assert_eq!((told.code, there()), (0, [true, false, false]), "only the one that is named: {told:?}");
    let told = clean(&project, &[other.to_str().unwrap()]);
    assert_eq!(told.code, 2, "it has none any more: {told:?}");
    let told = clean(&project, &["--all", "--json"]);
    assert_eq!((told.code, there()), (0, [false; 3]), "{told:?}");
    let json: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(json["environments"][0]["action"], "remove", "{json}");
    assert_eq!(json["environments"][0]["project"], project.dir().to_str().unwrap(), "{json}");
    assert!(project.instance.home().join("config.json").exists(), "the instance is untouched");
    let acts: Vec<_> =
        project.instance.records().into_iter().filter(|record| record["tool"] == "clean").collect();
    assert_eq!(acts.len(), 6, "three acts were decided and finished: {acts:?}");
    sh_in(&project, &project.dir(), "test ! -e ~/kept && echo again > ~/kept");
}

#[test]
fn clean_leaves_what_is_in_use() {
    let Some(project) = Project::new(Native) else { return };
    let home = home_of(&project, &project.dir());
    let mut command = project.command(&[], &["sh", "-c", "echo > up; read line; test -e ~/kept"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the command runs", || project.dir().join("up").exists());
    std::fs::write(home.join("kept"), "").unwrap();
    let told = clean(&project, &["--all"]);
    assert!(told.code == 0 && told.stdout.contains("in use"), "{told:?}");
    let told = clean(&project, &[project.dir().to_str().unwrap()]);
    assert_eq!(told.code, 1, "one that is named and in use is refused: {told:?}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "its home was there to the end");
    let told = clean(&project, &["--all"]);
    assert!(told.code == 0 && !home.exists(), "{told:?}");
}

#[test]
fn clean_sweeps_what_was_killed() {
    let Some(project) = Project::new(Native) else { return };
    let entry = project.instance.home().join("state/running/run-999999999-1");
    std::fs::write(&entry, "").unwrap();
    let told = clean(&project, &["--dry-run"]);
    assert!(told.stdout.contains(&format!("would remove  {}", entry.display())), "{told:?}");
    assert!(entry.exists());
    let told = clean(&project, &[]);
    assert!(told.code == 0 && !entry.exists(), "{told:?}");
}

/// Not to root, whom no mode keeps out.
#[test]
fn a_command_does_not_lock_the_next_one_out_of_its_home() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let kept = project.instance.dir().join("kept");
        std::fs::create_dir(&kept).unwrap();
        for closed in ["$HOME/..", "$HOME", "$TMPDIR", "$XDG_CACHE_HOME", "$HOME/.cargo"] {
            for mode in ["000", "500", "300"] {
                let line = format!("mkdir -p {closed}; chmod {mode} {closed}; true");
                let told = project.sh(&[], &line);
                assert_eq!(told.code, 0, "{level:?}: `{line}`: {told:?}");
                let told = project.sh(&[], "echo x > $HOME/x && echo x > $TMPDIR/x");
                faults.check(told.code == 0, format!("{level:?}: `{line}`: the next: {told:?}"));
            }
        }
        let told = project.sh(&[], &format!("mv $TMPDIR $HOME; ln -s {} $TMPDIR", kept.display()));
        assert_eq!(told.code, 0, "{level:?}: {told:?}");
        assert_eq!(outside(&kept, &["chmod", "500", "."]).code, 0);
        project.sh(&[], "true");
        let mode = outside(&kept, &["stat", "-c", "%a", "."]).stdout;
        faults.check(mode == "500\n", format!("{level:?}: through a link: {mode}"));
        project.sh(&[], "chmod -R u+rwX $HOME");
    }
}
