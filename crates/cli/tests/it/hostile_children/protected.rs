//! C11: what a program of the host will execute later cannot be changed from a cage, and git works all the same.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, is_here, outside};
use crate::test_instance::{Ran, TestInstance};

/// A repository with a hook, a submodule's and a worktree's administrative files, and editors' settings: tracked ones
/// in `tracked/`-named files, untracked ones beside them.
const FURNISH: &str = "set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git init -q -b main . && git config user.name t && git config user.email t@example.org
mkdir -p .git/hooks && echo 'exit 0' > .git/hooks/pre-commit.sample && : > .git/config.worktree
for part in .git/modules/m .git/worktrees/w; do
    mkdir -p $part/hooks && echo '[core]' > $part/config && echo '[core]' > $part/config.worktree && : > $part/hooks/h
done
mkdir .vscode && echo '{}' > .vscode/settings.json && echo one > file && echo 'use flake' > .envrc.tracked
git add -A && git commit -qm one
mkdir -p .idea .claude .codex .cursor .github/workflows
for name in .idea/workspace.xml .claude/settings.json .codex/config.toml .cursor/mcp.json .github/workflows/ci.yml .envrc .mcp.json .gitmodules .bashrc .bash_profile .profile .zshrc; do
    : > $name
done";

/// What git executes or is told by, with its content.
const SNAPSHOT: &str = "find .git/config .git/config.worktree .git/hooks .git/modules .git/worktrees ! -type d 2>/dev/null | sort | xargs sha256sum
find .git/hooks .git/modules .git/worktrees | sort; stat -c '%i %n' .git .git/config .git/hooks";

struct Repository {
    project: Project,
}

impl Repository {
    fn new(level: Level, more: &str) -> Option<Self> {
        let project = Project::with_isolation(level, more).filter(|_| is_here("git"))?;
        let repository = Self { project };
        repository.host(FURNISH);
        let copied = outside(repository.project.instance.dir(), &["cp", "-a", "project", "pristine"]);
        assert_eq!(copied.code, 0, "{copied:?}");
        Some(repository)
    }

    /// A line on the host, which must succeed.
    fn host(&self, line: &str) -> String {
        let told = outside(&self.project.dir(), &["sh", "-c", line]);
        assert_eq!(told.code, 0, "`{line}`: {told:?}");
        told.stdout
    }

    fn snapshot(&self) -> String {
        outside(&self.project.dir(), &["sh", "-c", SNAPSHOT]).stdout
    }

    fn restore(&self) {
        let line = "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} + && cp -a ../pristine/. .";
        self.host(line);
    }

    fn sh(&self, flags: &[&str], line: &str) -> Ran {
        self.project.sh(flags, line)
    }
}

/// Each changes what git will execute, without a cage.
const ATTACKS: &[&str] = &[
    "git config core.fsmonitor ./evil",
    "echo '[core] fsmonitor = ./evil' >> .git/config",
    "sed -i '1i[alias]' .git/config",
    "mv .git/config .git/aside",
    "rm -f .git/config",
    "ln -sf ../evil .git/config",
    "cp .git/config c && echo '[alias]' >> c && mv -f c .git/config",
    "echo '[core]' >> .git/config.worktree",
    "echo ./evil > .git/hooks/post-commit",
    "cp /bin/true .git/hooks/pre-push",
    "rm -rf .git/hooks",
    "mv .git/hooks .git/aside",
    "mkdir .git/hooks/new",
    "git remote add evil ext::sh",
    "echo '[core]' >> .git/modules/m/config",
    "echo ./evil > .git/modules/m/hooks/post-checkout",
    "mv .git/modules .git/aside; mkdir -p .git/modules/m; echo '[core]' > .git/modules/m/config",
    "echo '[core]' >> .git/worktrees/w/config.worktree",
    "mv .git aside && cp -r aside .git && echo '[alias]' >> .git/config",
    "mv .git aside; git init -q . && git config core.fsmonitor ./evil",
    "rm -rf .git; git init -q . && git config core.fsmonitor ./evil",
    "python3 -c \"import ctypes; print(ctypes.CDLL(None).renameat2(-100, b'.git/config', -100, b'file', 2))\"",
];

fn holds(level: Level) {
    let mut faults = Faults::default();
    let Some(repository) = Repository::new(level, "") else { return };
    for line in ATTACKS {
        let before = repository.snapshot();
        outside(&repository.project.dir(), &["sh", "-c", line]);
        assert_ne!(repository.snapshot(), before, "the control: `{line}`");
        repository.restore();
        let before = repository.snapshot();
        let told = repository.sh(&[], line);
        faults.check(repository.snapshot() == before, format!("{level:?}: `{line}`: {told:?}"));
        repository.restore();
    }
}

#[test]
fn what_git_executes_cannot_be_changed() {
    holds(Native);
}

#[test]
fn what_git_executes_cannot_be_changed_in_bubblewrap() {
    holds(Bwrap);
}

#[test]
fn git_works() {
    let line = "set -e
echo two >> file && git add file && git commit -qm two && git status && git diff HEAD~1 > /dev/null
git checkout -q -b topic && echo topic > topic && git add topic && git commit -qm topic
git checkout -q main && echo three >> file && git commit -qam three
echo kept >> file && git stash -q && test -z \"$(git status --porcelain -uno)\" && git stash pop -q && git checkout -q file
git checkout -q topic && git rebase -q main && git checkout -q main && git merge -q topic && git merge -q --no-ff -m m topic
git branch other && git branch -d other && git tag v1 && git reset -q --hard HEAD~1 && git cherry-pick topic > /dev/null
echo changed > .vscode/settings.json && git commit -qam settings && git checkout -q HEAD~1 && git checkout -q main
git gc -q && git fsck";
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        let told = repository.sh(&[], line);
        assert_eq!(told.code, 0, "{level:?}: {told:?}");
        assert_eq!(
            repository.host("cat .vscode/settings.json; git log --oneline | wc -l"),
            "changed\n5\n",
            "{level:?}"
        );
        repository.host("git fsck --strict");
    }
}

#[test]
fn a_refused_configuration_names_the_flag_that_allows_it() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        for line in ["git config user.name other", "git remote add origin https://example.org/x"] {
            let told = repository.sh(&[], line);
            let named = told.code != 0 && told.stderr.contains("--unprotect .git/config");
            faults.check(named, format!("{level:?}: `{line}`: {told:?}"));
            let told = repository.sh(&["--unprotect", ".git/config"], line);
            faults.check(told.code == 0, format!("{level:?}: `{line}`, unprotected: {told:?}"));
        }
        let name = outside(&repository.project.dir(), &["git", "config", "user.name"]).stdout;
        faults.check(name == "other\n", format!("{level:?}: it has been written: {name}"));
        let told = repository.sh(&["--unprotect", ".git/config"], "echo x > .git/hooks/new");
        faults.check(told.code != 0, format!("{level:?}: the rest stays protected: {told:?}"));
        let told = repository.sh(
            &["--unprotect", ".git/hooks", "--unprotect", ".envrc"],
            "echo x | tee .git/hooks/new .envrc",
        );
        faults.check(told.code == 0, format!("{level:?}: several: {told:?}"));
    }
}

const UNTRACKED: &[&str] = &[
    ".envrc",
    ".mcp.json",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".idea/workspace.xml",
    ".claude/settings.json",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".github/workflows/ci.yml",
];

#[test]
fn untracked_settings_are_read_only_and_tracked_ones_are_not() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        for name in UNTRACKED {
            let dir = name.split('/').next().unwrap();
            let mut lines = vec![
                format!("echo evil >> {name}"),
                format!("rm -f {name}; test ! -e {name}"),
                format!("echo evil > x && mv -f x {name}; grep evil {name}"),
                format!("mv {dir} aside"),
            ];
            if name.contains('/') {
                lines.push(format!("echo evil > $(dirname {name})/new"));
            }
            for line in lines {
                let told = repository.sh(&[], &line);
                faults.check(told.code != 0, format!("{level:?}: `{line}`: {told:?}"));
                repository.restore();
            }
        }
        let told =
            repository.sh(&[], "echo '{\"a\": 1}' > .vscode/settings.json && echo new > .vscode/tasks.json");
        faults.check(told.code == 0, format!("{level:?}: tracked: {told:?}"));
        repository.restore();
        repository.host("rm -rf .git");
        let told = repository.sh(&[], "echo evil >> .envrc || echo evil >> .vscode/settings.json");
        faults.check(told.code != 0, format!("{level:?}: without git nothing is tracked: {told:?}"));
    }
}

#[test]
fn no_placeholder_is_made_on_the_host() {
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        assert_eq!(project.sh(&[], "ls -A").stdout, "", "{level:?}: nor in the cage");
        assert_eq!(std::fs::read_dir(project.dir()).unwrap().count(), 0, "{level:?}");
        assert_eq!(outside(&project.dir(), &["git", "init", "-q", "."]).code, 0);
        assert_eq!(outside(&project.dir(), &["sh", "-c", "rm -rf .git/hooks"]).code, 0);
        let told = project.sh(&[], "git status --porcelain");
        assert_eq!((told.code, told.stdout.as_str()), (0, ""), "{level:?}: {told:?}");
        assert_eq!(
            outside(&project.dir(), &["sh", "-c", "ls -A; ls .git | grep -c hooks"]).stdout,
            ".git\n0\n"
        );
    }
}

/// Makes or changes what is on the list where that is allowed.
const PLANTED: &[(&str, &str)] = &[
    ("a new file", ".envrc"),
    ("a new directory", ".cursor/rules"),
    ("hooks where there were none", ".git/hooks/post-merge"),
    ("a tracked file", ".vscode/settings.json"),
    ("a workflow", ".github/workflows/new.yml"),
];

fn with_room_for_plants(repository: &Repository) {
    repository.restore();
    repository.host("rm -rf .envrc .cursor .github .git/hooks .git/modules .git/worktrees");
}

#[test]
fn what_is_new_or_changed_is_reported() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        for (why, name) in PLANTED {
            with_room_for_plants(&repository);
            let told = repository.sh(&[], &format!("mkdir -p $(dirname {name}) && echo evil > {name}"));
            assert_eq!(told.code, 0, "{level:?}: {why}: {told:?}");
            faults.check(told.stderr.contains(name), format!("{level:?}: {why}: not reported: {told:?}"));
            let record = repository.project.instance.records().pop().unwrap().to_string();
            faults.check(record.contains(name), format!("{level:?}: {why}: not in the ledger: {record}"));
        }
        with_room_for_plants(&repository);
        let told = repository.sh(&[], "echo more >> file; cat .vscode/settings.json");
        faults.check(told.stderr.is_empty(), format!("{level:?}: there is nothing to report: {told:?}"));
    }
}

#[test]
fn what_is_planted_behind_the_fence_is_reported() {
    let instance = TestInstance::with_config(
        r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart"}}}"#,
    );
    let told = instance.tool("exec", r#"{"command": "echo evil > .envrc"}"#);
    assert!(told.stdout.contains(".envrc") || told.stderr.contains(".envrc"), "{told:?}");
    let record = instance.records().pop().unwrap();
    assert!(record["outcome"].to_string().contains(".envrc"), "{record}");
}

#[test]
fn the_list_is_the_operator_s() {
    for level in [Native, Bwrap] {
        let line = "echo x >> .envrc && echo x >> .git/config";
        let Some(free) = Repository::new(level, r#", "protect": []"#) else { continue };
        assert_eq!(free.sh(&[], line).code, 0, "{level:?}: an empty list");
        let Some(own) = Repository::new(level, r#", "protect": ["deploy.sh"]"#) else { continue };
        own.host("echo true > deploy.sh");
        assert_eq!(own.sh(&[], line).code, 0, "{level:?}: another list");
        assert_ne!(own.sh(&[], "echo x >> deploy.sh").code, 0, "{level:?}: what it names");
        let Some(few) = Repository::new(level, r#", "protect": [".vscode", ".i*"]"#) else { continue };
        let told = few.sh(&[], "echo x > .vscode/settings.json && echo x >> .git/config");
        assert_eq!(told.code, 0, "{level:?}: what git tracks, whatever the list says of git: {told:?}");
        assert_ne!(few.sh(&[], "echo x > .idea/new").code, 0, "{level:?}: a pattern");
    }
}

/// Other places of what git obeys: a repository in the project, a linked worktree, a bare repository, hooks behind a
/// link and behind a setting, included configuration, objects of another repository.
const FURNISH_MORE: &str = "set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git worktree add -q wt -b wt && git init -q deep/er/nested && git init -q --bare bare.git
git init -q linked && rm -rf linked/.git/hooks && mkdir linked/own && echo true > linked/own/pre-commit
ln -s ../own linked/.git/hooks
git init -q set && mkdir -p set/.husky/_ && echo true > set/.husky/_/pre-commit && : > set/extra
git -C set config core.hooksPath .husky/_ && git -C set config include.path ../extra
echo ../../../bare.git/objects > .git/objects/info/alternates
mkdir -p a/b/.VSCode && echo '{}' > a/b/.VSCode/settings.json && : > a/.EnvRC
mkdir real && ln -s real .codex2 && rm -rf .codex && ln -s real .codex && : > real/config.toml";

const SNAPSHOT_MORE: &str = "stat -c '%i %n' deep deep/er deep/er/nested linked/.git set wt/.git a a/b bare.git/hooks
for dir in wt/.git .git/worktrees/wt/commondir .git/worktrees/wt/gitdir deep/er/nested/.git/config deep/er/nested/.git/hooks bare.git/config bare.git/hooks linked/own \\
    linked/.git/config set/.husky/_ set/extra set/.git/config .git/objects/info/alternates a real; do
    find $dir ! -type d; find $dir -type f -exec sha256sum {} +
done 2>/dev/null | sort";

/// Each changes one of these, without a cage.
const MORE_ATTACKS: &[&str] = &[
    "echo 'gitdir: ../evil' > wt/.git",
    "rm wt/.git; cp -r .git wt/.git",
    "mv wt aside; mkdir wt; echo 'gitdir: ../evil' > wt/.git",
    "echo ../../../evil > .git/worktrees/wt/commondir",
    "rm -rf .git/worktrees/wt; mkdir .git/worktrees/wt",
    "git -C deep/er/nested config core.fsmonitor ./evil",
    "echo ./evil > deep/er/nested/.git/hooks/post-commit",
    "mv deep/er/nested aside; git init -q deep/er/nested; echo ./evil > deep/er/nested/.git/hooks/post-commit",
    "mv deep aside; cp -r aside deep; echo '[alias]' >> deep/er/nested/.git/config",
    "mv deep/er aside; ln -s ../aside deep/er",
    "echo '[alias]' >> bare.git/config",
    "echo ./evil > bare.git/hooks/update",
    "mv bare.git aside; cp -r aside bare.git; echo ./evil > bare.git/hooks/update",
    "echo ./evil > linked/own/pre-commit",
    "rm -rf linked/own; mkdir linked/own; echo ./evil > linked/own/pre-commit",
    "echo ./evil > set/.husky/_/pre-commit",
    "mv set/.husky aside; cp -r aside set/.husky; echo ./evil > set/.husky/_/pre-push",
    "echo '[alias]' > set/extra",
    "echo /elsewhere/objects > .git/objects/info/alternates",
    "echo x > a/b/.VSCode/settings.json",
    "mv a aside; cp -r aside a; echo x > a/b/.VSCode/tasks.json",
    "echo x > a/.EnvRC",
    "echo x > real/config.toml",
];

#[test]
fn what_git_obeys_elsewhere_cannot_be_changed() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        repository.host(FURNISH_MORE);
        repository.host("rm -rf ../pristine; cp -a . ../pristine");
        let snapshot = || outside(&repository.project.dir(), &["sh", "-c", SNAPSHOT_MORE]).stdout;
        for line in MORE_ATTACKS {
            let before = snapshot();
            outside(&repository.project.dir(), &["sh", "-c", line]);
            assert_ne!(snapshot(), before, "the control: `{line}`");
            repository.restore();
            let before = snapshot();
            let told = repository.sh(&[], line);
            faults.check(snapshot() == before, format!("{level:?}: `{line}`: {told:?}"));
            repository.restore();
        }
    }
}

#[test]
fn what_cannot_be_prevented_is_reported() {
    let mut faults = Faults::default();
    let planted = [
        ("git reads its configuration elsewhere", "echo ../evil > .git/commondir", ".git/commondir"),
        ("a new repository", "git init -q new", "new/.git/config"),
        ("a new bare repository", "git init -q --bare bare", "bare/config"),
        (
            "a repository that another leads to",
            "echo 'gitdir: x' > new.git; mkdir n; mv new.git n/.git",
            "n/.git",
        ),
        (
            "objects of another repository",
            "echo /x > .git/objects/info/alternates",
            ".git/objects/info/alternates",
        ),
        ("in either case", "mkdir -p x/.Vscode; echo x > x/.Vscode/tasks.json", "x/.Vscode/tasks.json"),
        ("a link", "ln -s file .zshenv", ".zshenv"),
        ("an invisible name", "mkdir .cursor/x; printf x > \"$(printf '.cursor/x/\\033[2J')\"", "[2J"),
        (
            "too much to search",
            "i=0; while [ $i -lt 1100 ]; do mkdir d$i; i=$((i+1)); done",
            "more than can be searched",
        ),
    ];
    for level in [Native, Bwrap, Landlock] {
        let Some(repository) = Repository::new(level, "") else { continue };
        for (why, line, name) in planted {
            repository.restore();
            repository.host("rm -rf .cursor; mkdir .cursor; git add -fN .cursor; echo x > .cursor/tracked; git add -f .cursor");
            let told = repository.sh(&["--env", "GIT_CONFIG_NOSYSTEM=1"], line);
            faults.check(told.code == 0, format!("{level:?}: {why}: {told:?}"));
            faults.check(told.stderr.contains(name), format!("{level:?}: {why}: not reported: {told:?}"));
            faults.check(!told.stderr.contains('\x1b'), format!("{level:?}: {why}: raw bytes: {told:?}"));
            faults.check(told.stderr.lines().count() == 1, format!("{level:?}: {why}: one line: {told:?}"));
        }
        if level == Landlock {
            let told = repository.sh(&[], "echo evil > .git/hooks/pre-push; echo evil >> .envrc");
            let named = told.stderr.contains("`.git/hooks/pre-push` (new)")
                && told.stderr.contains("`.envrc` (changed)");
            faults.check(named, format!("Landlock: what a cage would refuse: {told:?}"));
        }
    }
}

#[test]
fn ordinary_work_goes_on() {
    let mut faults = Faults::default();
    let lines = [
        (
            "a clone",
            "git clone -q . copy && cd copy && git config user.name x && git remote add up .. && git fetch -q up",
        ),
        (
            "a fetch from a path",
            "git fetch -q ../project main:fetched && git branch --list fetched | grep -q fetched",
        ),
        ("a branch of a remote", "git clone -q . copy && cd copy && git checkout -q -b topic origin/main"),
        (
            "a worktree",
            "git worktree add -q tree -b tree && echo x > tree/x && git -C tree add x && git -C tree commit -qm x",
        ),
        (
            "an editor",
            "echo '{}' > .vscode/new && mv .vscode/new .vscode/settings.json && sed -i s/one/1/ file",
        ),
        (
            "a project of node",
            "command -v npm > /dev/null || exit 0; npm init -y > /dev/null && test -e package.json",
        ),
        (
            "a package",
            "command -v npm > /dev/null || exit 0; mkdir -p p/.vscode && echo '{\"name\":\"p\",\"version\":\"1.0.0\"}' > p/package.json && echo {} > p/.vscode/x && npm pack -s ./p > /dev/null && npm init -y > /dev/null && npm install -s ./p-1.0.0.tgz && npm install -s ./p-1.0.0.tgz && rm -rf node_modules",
        ),
        (
            "renames",
            "mkdir s t && echo x > s/x && git add s && git mv s/x t/x && git commit -qm moved && rm -rf s t",
        ),
        (
            "a checkout of settings",
            "git checkout -q -b other && git rm -rq .vscode && git commit -qm gone && git checkout -q main && test -e .vscode/settings.json",
        ),
    ];
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        for (why, line) in lines {
            repository.restore();
            let told = repository.sh(&[], &format!("set -e; {line}"));
            faults.check(told.code == 0, format!("{level:?}: {why}: {told:?}"));
        }
        repository.restore();
        repository.host(
            "mkdir -p node_modules/m/.vscode && : > node_modules/m/.vscode/x && git init -q node_modules/g",
        );
        let told = repository.sh(&[], "rm -rf node_modules");
        faults.check(told.code == 0, format!("{level:?}: what a tool made, it deletes: {told:?}"));
    }
}

#[test]
fn a_flag_names_any_path() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(repository) = Repository::new(level, "") else { continue };
        repository.host("git init -q sub/nested");
        let dir = repository.project.dir();
        let absolute = dir.join("sub/nested/.git/config");
        for (flag, line) in [
            ("sub/nested/.git/config", "git -C sub/nested config a.b c"),
            (absolute.to_str().unwrap(), "git -C sub/nested config a.b c"),
            ("./.idea", "echo x > .idea/new && mv .idea aside && mv aside .idea"),
            (".idea/workspace.xml", "echo x > .idea/workspace.xml"),
            (".git", "rm -rf .git"),
        ] {
            let refused = repository.sh(&[], line);
            faults.check(refused.code != 0, format!("{level:?}: without `{flag}`: {refused:?}"));
            let told = repository.sh(&["--unprotect", flag], line);
            faults.check(told.code == 0 && told.stderr.is_empty(), format!("{level:?}: `{flag}`: {told:?}"));
        }
        let told = repository.sh(&["--unprotect", "../x"], "true");
        faults.check(told.code == 2, format!("{level:?}: a path outside: {told:?}"));
        repository.project.file("other/.envrc", "");
        let beside = repository.project.instance.dir().join("other");
        let told = repository.sh(&["--rw", beside.to_str().unwrap()], "echo x > ../other/.envrc");
        faults.check(told.code != 0, format!("{level:?}: a directory that is shown read-write: {told:?}"));
        let hidden = repository.project.instance.workspace().join(".envrc");
        std::fs::create_dir_all(hidden.parent().unwrap()).unwrap();
        std::fs::write(&hidden, "").unwrap();
        let above = repository.project.instance.dir().to_str().unwrap();
        let told = repository.sh(&["--rw", above], &format!("test ! -e {}", hidden.display()));
        faults.check(told.code == 0, format!("{level:?}: what is hidden stays hidden: {told:?}"));
    }
}

#[test]
fn the_plan_names_what_is_protected() {
    let Some(repository) = Repository::new(Native, "") else { return };
    let mut command = repository.project.command(&[], &["true"]);
    let told = crate::test_instance::ran(command.env("PICOCLAW_LOG_LEVEL", "info").output().unwrap());
    for (mode, name) in [("ro", ".git/config"), ("rw", ".git"), ("ro", ".idea")] {
        let rule = format!("{mode} {} (protected)", repository.project.dir().join(name).display());
        assert!(told.stderr.contains(&rule), "`{rule}`: {}", told.stderr);
    }
}

#[test]
fn an_agent_s_commands_and_file_tools_leave_protected_files_alone() {
    for (why, isolation) in [("caged", r#""enabled": true"#), ("fenced", r#""enabled": false"#)] {
        let instance = TestInstance::with_config(&format!(r#"{{"isolation": {{{isolation}}}}}"#));
        assert_eq!(instance.run(&["onboard"]).code, 0);
        let envrc = instance.workspace().join(".envrc");
        std::fs::write(&envrc, "was").unwrap();
        let told = instance.tool("exec", r#"{"command": "echo evil > .envrc; echo evil > .profile"}"#);
        let content = std::fs::read_to_string(&envrc).unwrap();
        assert_eq!(content == "was", why == "caged", "{why}: {told:?}");
        assert!(told.stdout.contains("`.profile` (new)"), "{why}: {told:?}");
        assert_eq!(told.stdout.contains("`.envrc` (changed)"), why == "fenced", "{why}: {told:?}");
        let outcome = instance.records().pop().unwrap()["outcome"].to_string();
        assert!(outcome.contains("`.profile` (new)"), "{why}: {outcome}");
        std::os::unix::fs::symlink(".git/hooks", instance.workspace().join("link")).unwrap();
        std::fs::create_dir_all(instance.workspace().join(".git/hooks")).unwrap();
        for (tool, json) in [
            ("write_file", r#"{"path": ".envrc", "content": "x"}"#),
            ("write_file", r#"{"path": "new/.git/hooks/pre-commit", "content": "x"}"#),
            ("write_file", r#"{"path": "link/pre-commit", "content": "x"}"#),
            ("append_file", r#"{"path": ".envrc", "content": "x"}"#),
            ("edit_file", r#"{"path": ".envrc", "old_text": "a", "new_text": "x"}"#),
        ] {
            let told = instance.tool(tool, json);
            let sentence = "access denied: programs outside the workspace execute or obey this file\nhint: ";
            assert!(told.code == 3 && told.stdout.starts_with(sentence), "{why}: {tool}: {told:?}");
            assert!(told.stdout.contains("isolation.protect"), "{why}: {tool}: {told:?}");
        }
        assert_eq!(std::fs::read_to_string(&envrc).unwrap(), content, "{why}");
        assert!(!instance.workspace().join("new").exists(), "{why}");
        let told = instance.tool("write_file", r#"{"path": "envrc", "content": "x"}"#);
        assert_eq!(told.code, 0, "{why}: a file like any other: {told:?}");
        instance.configure(&format!(r#"{{"isolation": {{{isolation}, "protect": []}}}}"#));
        let told = instance.tool("write_file", r#"{"path": ".envrc", "content": "x"}"#);
        assert_eq!(told.code, 0, "{why}: an empty list: {told:?}");
    }
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    for entry in ["/etc/passwd", "../x", "", "a//b"] {
        let instance = TestInstance::with_config(&format!(r#"{{"isolation": {{"protect": ["{entry}"]}}}}"#));
        let told = instance.run(&["config", "check"]);
        assert!(told.code == 2 || told.code == 1, "`{entry}`: {told:?}");
        assert!(
            format!("{}{}", told.stdout, told.stderr).contains("isolation.protect[0]"),
            "`{entry}`: {told:?}"
        );
    }
}
