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
