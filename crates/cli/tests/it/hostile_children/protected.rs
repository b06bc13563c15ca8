//! C11: what a program of the host will execute later cannot be changed from a cage, and git works all the same.

use super::{Bwrap, Faults, Level, Native, Project, is_here, outside};
use crate::test_instance::{TestInstance, Ran};

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
#[ignore = "C11: `.git/config` and `.git/hooks` are writable"]
fn what_git_executes_cannot_be_changed() {
    holds(Native);
}

#[test]
#[ignore = "C11: `.git/config` and `.git/hooks` are writable"]
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
git branch other && git branch -d other && git tag v1 && git reset -q --hard HEAD~1 && git cherry-pick --allow-empty HEAD
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
#[ignore = "C11: there is no `--unprotect`"]
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
#[ignore = "C11: settings of editors, agents and shells are writable"]
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
#[ignore = "C11: nothing is said about what was planted"]
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
#[ignore = "C11: nothing is said about what was planted"]
fn what_is_planted_behind_the_fence_is_reported() {
    let instance =
        TestInstance::with_config(r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart"}}}"#);
    let told = instance.tool("exec", r#"{"command": "echo evil > .envrc"}"#);
    assert!(told.stdout.contains(".envrc") || told.stderr.contains(".envrc"), "{told:?}");
    let record = instance.records().pop().unwrap();
    assert!(record["outcome"].to_string().contains(".envrc"), "{record}");
}

#[test]
#[ignore = "C11: there is no `isolation.protect`"]
fn the_list_is_the_operator_s() {
    for level in [Native, Bwrap] {
        let line = "echo x >> .envrc && echo x >> .git/config";
        let Some(free) = Repository::new(level, r#", "protect": []"#) else { continue };
        assert_eq!(free.sh(&[], line).code, 0, "{level:?}: an empty list");
        let Some(own) = Repository::new(level, r#", "protect": ["deploy.sh"]"#) else { continue };
        own.host("echo true > deploy.sh");
        assert_eq!(own.sh(&[], line).code, 0, "{level:?}: another list");
        assert_ne!(own.sh(&[], "echo x >> deploy.sh").code, 0, "{level:?}: what it names");
    }
}
