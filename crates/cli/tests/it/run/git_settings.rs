//! What passes of the operator's git configuration.

use super::{Project, is_here};

const CONFIG: &str = "[user]\n\tname = A Person\n\temail = a@example.org\n[alias]\n\tlast = log --oneline\n\tevil = !id\n\
    [credential]\n\thelper = store\n[core]\n\tsshCommand = id\n\thooksPath = /tmp/hooks\n[include]\n\tpath = /etc/hostname\n";

#[test]
fn tastes_pass_and_programs_do_not() {
    if !is_here("git") {
        return;
    }
    let Some(project) = Project::new("git settings") else { return };
    project.file(".gitconfig", CONFIG);
    let ran = project.sh("git config --list --name-only | sort");
    let known: Vec<_> = ran.stdout.lines().filter(|name| !name.starts_with("include.")).collect();
    for name in ["user.name", "user.email", "alias.last"] {
        assert!(known.contains(&name), "{name}: {ran:?}");
    }
    for name in ["alias.evil", "credential.helper", "core.sshcommand", "core.hookspath"] {
        assert!(!known.contains(&name), "{name}: {ran:?}");
    }
    let ran = project.sh("git config --global user.name Other && git config user.name");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Other\n"), "the home of the cage comes first: {ran:?}");
}

#[test]
fn the_identity_of_a_directory_and_what_is_ignored_everywhere_pass() {
    if !is_here("git") {
        return;
    }
    let Some(project) = Project::new("included git settings") else { return };
    project.file(
        ".gitconfig",
        "[user]\nemail = own\n[includeIf \"gitdir:~/project/\"]\npath = .gitconfig-work\n",
    );
    project.file(".gitconfig-work", "[user]\nemail = work\n[core]\nfsmonitor = id\n");
    project.file(".config/git/ignore", "*.swp\n");
    project.host("cd project && git init -q . && touch seen hidden.swp");
    let line = "git config user.email; git config core.fsmonitor; git status --short";
    let ran = project.sh(line);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "work\n?? seen\n"), "{ran:?}");
    project.host("mkdir other");
    let ran = project.sh_in("other", &[], "git config user.email");
    assert_eq!(ran.stdout, "own\n", "a project elsewhere: {ran:?}");
}

#[test]
fn a_spoilt_copy_changes_nothing_outside() {
    if !is_here("git") {
        return;
    }
    let Some(project) = Project::new("a spoilt copy of the git configuration") else { return };
    project.file(".gitconfig", CONFIG);
    let victim = project.file("victim/config", "untouched");
    let outside = victim.parent().unwrap().display().to_string();
    for (why, line) in [
        ("a link to a file", format!("ln -sf {outside}/config $GIT_CONFIG_SYSTEM")),
        ("a FIFO", "rm -f $GIT_CONFIG_SYSTEM; mkfifo $GIT_CONFIG_SYSTEM".to_owned()),
        (
            "another text",
            "rm -f $GIT_CONFIG_SYSTEM; echo '[alias] evil = !id' > $GIT_CONFIG_SYSTEM".to_owned(),
        ),
        ("a FIFO beside it", "cd $(dirname $GIT_CONFIG_SYSTEM); rm -f ignore; mkfifo ignore".to_owned()),
        (
            "a link to a directory",
            format!("cd $(dirname $GIT_CONFIG_SYSTEM)/.. && rm -rf git && ln -s {outside} git"),
        ),
        ("a link above", format!("cd $XDG_STATE_HOME/.. && rm -rf state && ln -s {outside} state")),
    ] {
        assert_eq!(project.sh(&line).code, 0, "{why}");
        let ran = project.run(&["--timeout", "20s", "--", "git", "config", "alias.evil"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{why}: {ran:?}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched", "{why}");
        let names: Vec<_> = std::fs::read_dir(victim.parent().unwrap())
            .unwrap()
            .flatten()
            .map(|file| file.file_name())
            .collect();
        assert!(!names.iter().any(|name| name == "git"), "{why}: {names:?}");
    }
}
