//! C7: one project, one home: what one project's command plants is not run or read by another's.

use super::{Bwrap, Faults, Landlock, Native, Project, is_here};
use crate::test_instance::{Ran, ran};
use std::os::unix::fs::symlink;
use std::path::Path;

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
#[ignore = "C7: all commands share one home"]
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
#[ignore = "C7: a `.gitconfig` of one project is git's in another"]
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

#[test]
#[ignore = "C7: there is no `picoclaw clean`"]
fn clean_removes_the_homes_of_projects() {
    let Some(project) = Project::new(Native) else { return };
    sh_in(&project, &project.dir(), "echo kept > ~/kept");
    let told = project.instance.run(&["clean", "--dry-run"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("runtime-user-env/run/"), "it names what it would remove: {told:?}");
    assert_eq!(sh_in(&project, &project.dir(), "cat ~/kept").stdout, "kept\n", "nothing was removed");
    let told = project.instance.run(&["clean"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(sh_in(&project, &project.dir(), "ls -A ~ | grep -c kept; true").stdout, "0\n");
    assert!(project.instance.home().join("config.json").exists(), "the instance is untouched");
    assert_eq!(project.instance.run(&["audit", "verify"]).code, 0);
}
