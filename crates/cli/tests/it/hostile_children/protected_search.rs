//! C11: a command cannot blind the search for protected files, nor crowd out the report.

use super::{Bwrap, Faults, Landlock, Native, Project, is_here, is_root, outside};

/// A line on the host, which must succeed.
fn host(project: &Project, line: &str) -> String {
    let told = outside(&project.dir(), &["sh", "-c", line]);
    assert_eq!(told.code, 0, "`{line}`: {told:?}");
    told.stdout
}

#[test]
fn names_of_a_git_directory_hide_nothing() {
    let blind = "touch HEAD; mkdir objects refs .GIT; touch .GIT/config";
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        host(&project, "git init -q . && mkdir -p .git/hooks && echo was > .envrc");
        let told = project.sh(&[], &format!("{blind}; mkdir sub; echo evil > sub/.envrc"));
        assert!(told.stderr.contains("`sub/.envrc` (new)"), "{level:?}: {told:?}");
        let told = project.sh(&[], "echo evil > .envrc; echo evil > .git/hooks/pre-commit");
        assert_eq!(
            host(&project, "cat .envrc; find .git/hooks -name pre-commit"),
            "was\n",
            "{level:?}: {told:?}"
        );
    }
}

/// A rule that forbids something may be one of them.
#[test]
fn what_was_removed_is_reported() {
    let furnish = "git init -q . && mkdir .claude && echo rules > .claude/settings.json && git add -A";
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level).filter(|_| is_here("git")) else { continue };
        host(&project, furnish);
        let told = project.sh(&[], "rm .claude/settings.json");
        assert!(told.stderr.contains("`.claude/settings.json` (removed)"), "{level:?}: {told:?}");
        assert_eq!(project.sh(&[], "true").stderr, "", "{level:?}: nothing was removed");
    }
}

/// Root can search such a directory, and protects what it finds.
#[test]
fn what_lies_in_a_closed_directory_cannot_be_changed() {
    let mut faults = Faults::default();
    let attack = "chmod 700 d; echo evil > d/.envrc; mv d aside; mkdir d; echo evil > d/.envrc; true";
    let (make, look) = ("mkdir d; echo was > d/.envrc; chmod", "chmod 700 d; cat d/.envrc; rm -rf d aside");
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        for mode in ["311", "600", "000"] {
            host(&project, &format!("{make} {mode} d; {attack}"));
            assert_eq!(host(&project, look), "evil\n", "the control: {mode}");
            host(&project, &format!("{make} {mode} d"));
            let told = project.sh(&[], attack);
            let content = host(&project, look);
            faults.check(told.code == 0, format!("{level:?}: {mode}: it starts: {told:?}"));
            faults.check(content == "was\n", format!("{level:?}: {mode}: `{content}`: {told:?}"));
            host(&project, &format!("{make} {mode} d"));
            let told = project.sh(&["--unprotect", "d"], attack);
            let content = host(&project, look);
            // To another user than root it is masked while the host has a socket that could lie in it.
            let is_open = content == "evil\n" || !is_root();
            faults.check(is_open, format!("{level:?}: {mode}: unprotected: {told:?}"));
        }
    }
}

#[test]
fn a_directory_that_a_command_closed_is_reported() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        for mode in ["311", "600", "000"] {
            let told = project.sh(&[], &format!("mkdir d; echo evil > d/.envrc; chmod {mode} d"));
            let want = if is_root() { "`d/.envrc` (new)" } else { "`d` (cannot be searched)" };
            faults.check(told.stderr.contains(want), format!("{level:?}: {mode}: {told:?}"));
            host(&project, "chmod 700 d; rm -r d");
        }
        let told = project.sh(&[], "echo evil > .envrc; chmod 311 .");
        let want = if is_root() { "`.envrc` (new)" } else { "`.` (cannot be searched)" };
        faults.check(told.stderr.contains(want), format!("{level:?}: the project: {told:?}"));
        let told = project.sh(&[], "true");
        let dir = project.dir().display().to_string();
        let remedies = [format!("`chmod u+rx {dir}`"), format!("`picoclaw run --unprotect {dir}`")];
        let is_refused = told.code == 125 && remedies.iter().all(|remedy| told.stderr.contains(remedy));
        faults.check(is_refused || is_root(), format!("{level:?}: the next start: {told:?}"));
        let told = project.sh(&["--unprotect", &dir], "true");
        let is_searched = told.stderr.contains("for protected files");
        faults.check(!is_searched, format!("{level:?}: a remedy: {told:?}"));
        host(&project, &format!("chmod u+rx {dir}"));
        let told = project.sh(&[], "true");
        faults.check(told.code == 0, format!("{level:?}: the other: {told:?}"));
    }
}

/// The operator shows it on purpose, for instance to let commands drop files there.
#[test]
fn a_directory_to_drop_files_in_can_be_shown() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        host(&project, "mkdir ../drop; chmod 300 ../drop");
        let drop = project.instance.dir().join("drop").display().to_string();
        let mut command = project.command(&["--rw", &drop], &["sh", "-c", &format!("echo x > {drop}/file")]);
        let told = crate::test_instance::ran(command.env("PICOCLAW_LOG_LEVEL", "warn").output().unwrap());
        host(&project, "chmod 700 ../drop");
        // It is masked while the host has a socket that could lie in it.
        faults.check(told.code != 125, format!("{level:?}: {told:?}"));
        let is_told = told.stderr.contains("cannot be searched; nothing in it is protected");
        faults.check(is_told || is_root(), format!("{level:?}: the warning: {told:?}"));
    }
}

/// Git would leave the old files behind without an error where it cannot replace them.
#[test]
fn a_submodule_replaces_the_hooks_that_it_tracks() {
    let furnish = "set -e
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
        git init -q ../lib && cd ../lib && git config user.name t && git config user.email t@example.org
        mkdir .husky && echo one > .husky/pre-commit && git add -A && git commit -qm one
        echo two > .husky/pre-commit && git commit -qam two && cd ../project && git init -q .
        git -c protocol.file.allow=always submodule --quiet add ../lib sub && git -C sub config core.hooksPath .husky";
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level).filter(|_| is_here("git")) else { continue };
        host(&project, furnish);
        let line = "git -C sub checkout -q HEAD~1 && cat sub/.husky/pre-commit";
        let told = project.sh(&[], &format!("{line}; echo evil > .git/modules/sub/hooks/h"));
        assert_eq!(told.stdout, "one\n", "{level:?}: {told:?}");
        let found = host(&project, "git -C sub status --porcelain; find .git/modules/sub/hooks -name h");
        assert_eq!(found, "", "{level:?}: {told:?}");
    }
}

#[test]
fn decoys_crowd_out_no_protection() {
    let decoys = "bash -c 'mkdir .{v,V}{s,S}{c,C}{o,O}{d,D}{e,E} .{c,C}{u,U}{r,R}{s,S}{o,O}{r,R} .{c,C}{l,L}{a,A}{u,U}{d,D}{e,E}'";
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        host(&project, "git init -q .");
        let told = project.sh(&[], decoys);
        faults.check(
            told.stderr.contains("more than can be protected") && told.stderr.contains("`.VSCODE` (new)"),
            format!("{level:?}: what is left out is reported: {told:?}"),
        );
        let told = project.sh(&[], "echo evil >> .git/config; echo evil > .git/hooks/pre-commit");
        let evil = ["config", "hooks/pre-commit"].iter().any(|file| {
            let text = std::fs::read_to_string(project.dir().join(".git").join(file));
            text.unwrap_or_default().contains("evil")
        });
        faults.check(!evil, format!("{level:?}: {told:?}"));
    }
}

#[test]
fn decoys_crowd_out_no_report() {
    let many = "i=0; while [ $i -lt 1000 ]; do : > .idea/$i; i=$((i+1)); done";
    let apart =
        "i=0; while [ $i -lt 90 ]; do mkdir -p $i/.vscode; : > $i/.vscode/a; : > $i/.envrc; i=$((i+1)); done";
    let bare = "i=10; while [ $i -lt 99 ]; do mkdir -p $i/objects $i/refs $i/hooks; : > $i/HEAD; : > $i/hooks/h; i=$((i+1)); done";
    let evil = ": > .zshenv; echo evil > .git/hooks/post-checkout; mkdir h; : > h/pre-commit";
    let mut faults = Faults::default();
    for level in [Landlock, Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        host(&project, "mkdir .git; echo '[core] hooksPath = h' > .git/config");
        let told = project.sh(&[], &format!("mkdir .git/hooks .idea; {many}; {apart}; {bare}; {evil}"));
        let named = [
            "`.git/hooks/post-checkout` (new)",
            "`h/pre-commit` (new)",
            "`.idea` (1000 files)",
            "`.zshenv` (new)",
            "`0/.envrc` (new)",
        ];
        let record = project.instance.records().pop().unwrap()["outcome"].to_string();
        for name in named {
            faults.check(told.stderr.contains(name), format!("{level:?}: shown: {name}: {told:?}"));
            faults.check(record.contains(name), format!("{level:?}: recorded: {name}: {record}"));
        }
        let is_cut = told.stderr.contains(" more\n") && told.stderr.lines().count() == 1;
        faults.check(is_cut, format!("{level:?}: the rest is counted: {told:?}"));
    }
}

/// Each is a place of a git directory where git writes, or may write one day.
const LINKS: &[&str] = &[
    ".git/COMMIT_EDITMSG",
    ".git/FETCH_HEAD",
    ".git/ORIG_HEAD",
    ".git/index",
    ".git/new",
    ".git/logs/HEAD",
    ".git/logs/refs/remotes",
    ".git/refs/tags",
    ".git/refs/heads/a/b/c",
    ".git/refs/heads/objects/aa/x",
    ".git/info/exclude",
    ".git/objects/aa",
    ".git/objects/info/commit-graphs",
    ".git/objects/pack/x.pack",
    ".git/rebase-merge/message",
    ".git/rr-cache/x/thisimage",
    ".git/modules/m/FETCH_HEAD",
    ".git/modules/deep/m/logs/HEAD",
    ".git/modules/objects/logs/HEAD",
    ".git/worktrees/w/COMMIT_EDITMSG",
    "bare.git/FETCH_HEAD",
];

/// Git follows them where it writes, and makes none itself.
#[test]
fn links_through_which_git_writes_are_reported() {
    let furnish =
        "git init -q . && git init -q --bare bare.git && git config user.name t && git config user.email t@t
        for part in modules/m modules/deep/m modules/objects worktrees/w; do
            mkdir -p .git/$part/objects .git/$part/refs; : > .git/$part/HEAD; : > .git/$part/config
        done
        ln -s ../old .git/old";
    let escape = "ln -s ../../rc .git/COMMIT_EDITMSG && echo evil > .git/MERGE_MSG";
    let commit =
        "git add -N . ; git commit -q --no-edit --allow-empty; cat ../rc; rm -rf .git .git/MERGE_MSG";
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level).filter(|_| is_here("git")) else { continue };
        project.file("rc", "was\n");
        host(&project, &format!("{furnish}; {escape}"));
        assert!(host(&project, commit).starts_with("evil\n"), "the control: git writes through it");
        host(&project, "rm -rf bare.git");
        host(&project, furnish);
        faults.check(project.sh(&[], "git status").stderr.is_empty(), format!("{level:?}: nothing is new"));
        let links = LINKS.join(" ");
        // Names that pass a directory for a git directory, so that another passes for its objects.
        let decoys =
            "mkdir .git/refs/heads/refs .git/modules/refs; : > .git/refs/heads/HEAD; : > .git/modules/HEAD";
        let line =
            "for link in $links; do mkdir -p $(dirname $link); rm -rf $link; ln -s /nowhere/rc $link; done";
        let told = project.sh(&[], &format!("links='{links}'; {decoys}; {line}; ln -s ../file .git/inside"));
        let record = project.instance.records().pop().unwrap()["outcome"].to_string();
        let out =
            LINKS.iter().map(|link| format!("`{link}` (new link that leads out: git writes through it)"));
        for named in out.chain(["`.git/inside` (new link: git writes through it)".to_owned()]) {
            faults.check(told.stderr.contains(&named), format!("{level:?}: {named}: {told:?}"));
            faults.check(record.contains(&named), format!("{level:?}: recorded: {named}: {record}"));
        }
        let told = project.sh(&[], "true");
        faults.check(told.stderr.is_empty(), format!("{level:?}: they are no news: {told:?}"));
        let told = project.sh(&[], "ln -sf ../../other .git/FETCH_HEAD");
        let named = "`.git/FETCH_HEAD` (changed link that leads out: git writes through it)";
        faults.check(told.stderr.contains(named), format!("{level:?}: {named}: {told:?}"));
        let told = project.sh(&["--unprotect", ".git"], "ln -s ../../other .git/unprotected");
        faults.check(told.stderr.is_empty(), format!("{level:?}: unprotected: {told:?}"));
        let many = "i=0; while [ $i -lt 1100 ]; do mkdir .git/refs/heads/$i; i=$((i+1)); done";
        let told = project.sh(&[], many);
        let is_told = told.stderr.contains("more than can be searched");
        faults.check(is_told, format!("{level:?}: too much to search: {told:?}"));
        let told = project.sh(&[], "rm -r .git/refs/heads/*; echo evil > .bashrc");
        faults.check(told.stderr.contains("`.bashrc` (new)"), format!("{level:?}: the project: {told:?}"));
    }
}
