//! The project root: what a command sees above its working directory, and what it never sees.

use super::{Project, is_here};
use crate::test_instance::{Ran, ran};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

impl Project {
    /// A shell line in the directory `dir`, relative to the temporary directory.
    pub(super) fn sh_in(&self, dir: &str, flags: &[&str], line: &str) -> Ran {
        let mut command = self.command(flags);
        let command = command.args(["--", "sh", "-c", line]).current_dir(self.instance.dir().join(dir));
        ran(command.output().unwrap())
    }

    /// Arranges files on the host.
    pub(super) fn host(&self, line: &str) {
        let identity = ["AUTHOR", "COMMITTER"]
            .iter()
            .flat_map(|who| [(format!("GIT_{who}_NAME"), "a"), (format!("GIT_{who}_EMAIL"), "a@b")]);
        let dir = self.instance.dir();
        let mut command = Command::new("sh");
        command.args(["-ec", line]).current_dir(dir).env("HOME", dir).envs(identity);
        let ran = ran(command.output().unwrap());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.instance.dir().join(name)).unwrap_or_default()
    }
}

fn with_git(why: &str) -> Option<Project> {
    if is_here("git") { Project::new(why) } else { None }
}

#[test]
fn a_subdirectory_of_a_work_tree_brings_the_whole_of_it() {
    let Some(project) = with_git("the root of a work tree") else { return };
    project.host("git init -q project && mkdir -p project/sub/deep && echo x > key");
    let line = "echo new > ../../top && git add -A && git status --short && pwd && cat ../../../key";
    let ran = project.sh_in("project/sub/deep", &[], line);
    assert!(ran.stdout.contains("A  ../../top"), "{ran:?}");
    assert!(ran.stdout.contains("project/sub/deep\n"), "the working directory stays: {ran:?}");
    assert_eq!((ran.code, project.read("project/top").as_str()), (1, "new\n"), "{ran:?}");
    let line = ran.stderr.lines().next().unwrap_or_default();
    let dir = project.dir().canonicalize().unwrap();
    let root = format!("picoclaw run: the project root is `{}`, a git work tree", dir.display());
    assert!(line.starts_with(&root) && line.contains("`--root none`"), "{ran:?}");
    // Controls: at the root there is nothing to say, and the flag shows the directory alone.
    assert_eq!(project.sh_in("project", &[], "git status >/dev/null").stderr, "");
    let alone = project.sh_in("project/sub", &["--root", "none"], "git status || ls -A ..");
    assert_eq!(alone.stdout, "sub\n", "{alone:?}");
}

#[test]
fn the_root_can_be_named() {
    let Some(project) = Project::new("`--root DIR`") else { return };
    project.host("mkdir -p project/sub other");
    let ran = project.sh_in("project/sub", &["--root", ".."], "echo new > ../top && pwd");
    assert_eq!((ran.code, project.read("project/top").as_str()), (0, "new\n"), "{ran:?}");
    assert!(ran.stdout.ends_with("project/sub\n"), "{ran:?}");
    for (root, want) in
        [("../../other", "does not lie in it"), ("/", "125"), ("../..", "instance"), ("nowhere", "nowhere")]
    {
        let ran = project.sh_in("project/sub", &["--root", root], "true");
        assert_eq!(ran.code, 125, "{root}: {ran:?}");
        assert!(want == "125" || ran.stderr.contains(want), "{root}: {ran:?}");
    }
}

#[test]
fn a_linked_work_tree_and_a_submodule_bring_their_git_directories() {
    let Some(project) = with_git("work trees and submodules") else { return };
    project.host(
        "git init -q main && git -C main commit -qm first --allow-empty && git -C main worktree add -q ../side
         echo secret > main/secret && git init -q lib && git -C lib commit -qm first --allow-empty
         git init -q top && cd top && git -c protocol.file.allow=always submodule --quiet add ../lib lib",
    );
    let commit = "echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm second && git log --oneline | wc -l";
    let ran = project.sh_in("side", &[], &format!("{commit}; cat ../main/secret"));
    assert_eq!((ran.stdout.as_str(), ran.code), ("2\n", 1), "{ran:?}");
    assert!(ran.stderr.contains("with its git directory"), "{ran:?}");
    let ran = project.sh_in("top/lib", &[], commit);
    assert_eq!((ran.stdout.as_str(), ran.code), ("2\n", 0), "{ran:?}");
    // What programs outside obey is read-only there too.
    for (dir, git_dir) in [("side", "../main/.git"), ("top/lib", "../.git/modules/lib")] {
        for name in ["config", "hooks/pre-commit"] {
            let ran = project.sh_in(dir, &[], &format!("echo evil >> {git_dir}/{name}"));
            assert!(
                ran.code != 0 && ran.stderr.contains("Read-only file system"),
                "{git_dir}/{name}: {ran:?}"
            );
        }
    }
}

#[test]
fn protected_files_at_the_root_are_protected_from_a_subdirectory() {
    let Some(project) = with_git("protected files at the root") else { return };
    project.host("git init -q project && mkdir project/sub && echo 'use nix' > project/.envrc");
    for name in [".envrc", ".git/config", ".git/hooks/pre-commit"] {
        let ran = project.sh_in("project/sub", &[], &format!("echo evil >> ../{name}"));
        assert!(ran.code != 0 && ran.stderr.contains("Read-only file system"), "{name}: {ran:?}");
    }
    let ran = project.sh_in(
        "project/sub",
        &[],
        "mv ../.git ../gone; git -C .. config a.b c; echo evil > ../.bashrc",
    );
    assert!(project.dir().join(".git/config").exists(), "{ran:?}");
    assert!(ran.stderr.contains("`--unprotect .git/config`"), "{ran:?}");
    assert!(ran.stderr.contains("`.bashrc` (new)"), "{ran:?}");
    let control = project.sh_in("project/sub", &["--unprotect", ".envrc"], "echo layout > ../.envrc");
    assert_eq!((control.code, project.read("project/.envrc").as_str()), (0, "layout\n"), "{control:?}");
}

#[test]
fn a_git_file_that_names_another_repository_shows_nothing_of_it() {
    let Some(project) = with_git("hostile git files") else { return };
    project.host(
        "git init -q victim && git -C victim commit -qm first --allow-empty && git -C victim worktree add -q ../real
         echo secret > victim/.git/secret",
    );
    let dir = project.instance.dir().canonicalize().unwrap();
    let dir = dir.display();
    for (why, text) in [
        ("the repository", format!("gitdir: {dir}/victim/.git")),
        ("the git directory of another work tree", format!("gitdir: {dir}/victim/.git/worktrees/real")),
        ("a relative path", "gitdir: ../victim/.git/worktrees/real".to_owned()),
        ("a home", format!("gitdir: {dir}")),
    ] {
        project.file("project/.git", &format!("{text}\n"));
        let ran = project.sh("cat ../victim/.git/secret; ls -A ../victim");
        assert!(!ran.stdout.contains("secret") && ran.code != 0, "{why}: {ran:?}");
        let is_refused = ran.stderr.contains("is not taken as the project root");
        assert!(is_refused && !ran.stderr.contains("--rw /"), "{why}: {ran:?}");
    }
    let control = project.sh_in("real", &[], "cat ../victim/.git/secret");
    assert_eq!(control.stdout, "secret\n", "the control: a work tree that is named in turn: {control:?}");
}

/// What was shown once for writing is not shown for ever.
#[test]
fn a_directory_that_a_command_made_a_git_directory_is_not_shown_again() {
    let Some(project) = with_git("a git directory of a command's own making") else { return };
    let submodule = "cd ../data && git init -q --bare . && git config core.bare false && git config core.worktree ../project
        echo 'gitdir: ../data' > ../project/.git";
    let work_tree = "cd ../data && git init -q --bare . && mkdir -p worktrees/x && echo ../.. > worktrees/x/commondir
        cp HEAD worktrees/x && echo $OLDPWD/.git > worktrees/x/gitdir && echo 'gitdir: ../data/worktrees/x' > ../project/.git";
    let flag = project.instance.dir().join("data");
    let flag = ["--rw", flag.to_str().unwrap()];
    for (why, line) in [("like a submodule's", submodule), ("like a linked work tree's", work_tree)] {
        project.host("rm -rf data project/.git; mkdir data");
        let planted = project.sh_in("project", &flag, line);
        assert_eq!(planted.code, 0, "{why}: {planted:?}");
        project.host("echo secret > data/later");
        let later = "cat ../data/later; echo evil > ../data/evil";
        let ran = project.sh_in("project", &[], later);
        assert!(ran.code != 0 && !ran.stdout.contains("secret"), "{why}: {ran:?}");
        assert!(ran.stderr.contains("is not taken as the project root"), "{why}: {ran:?}");
        assert!(!project.instance.dir().join("data/evil").exists(), "{why}");
        assert_eq!(project.sh_in("project", &flag, later).stdout, "secret\n", "{why}: the control");
    }
}

#[test]
fn a_git_directory_of_its_own_place_is_shown_by_a_flag() {
    let Some(project) = with_git("a separate git directory") else { return };
    project.host("git init -q --separate-git-dir gd tree && mkdir tree/sub && git -C tree config core.worktree $PWD/tree");
    let dir = project.instance.dir().canonicalize().unwrap();
    let (tree, git_dir) = (dir.join("tree"), dir.join("gd"));
    let flags = format!("`picoclaw run --root {} --rw {}` shows both", tree.display(), git_dir.display());
    for dir in ["tree", "tree/sub"] {
        let ran = project.sh_in(dir, &[], "git status");
        assert!(ran.code != 0 && ran.stderr.contains(&flags), "{dir}: {flags}: {ran:?}");
        let flags = ["--root", tree.to_str().unwrap(), "--rw", git_dir.to_str().unwrap()];
        let ran = project.sh_in(dir, &flags, "git status --short");
        assert_eq!(ran.code, 0, "{dir}: with the flags: {ran:?}");
    }
}

#[test]
fn submodules_and_work_trees_of_each_other_bring_their_git_directories() {
    let Some(project) = with_git("nested submodules") else { return };
    project.host(
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
         for name in one two; do git init -q $name; git -C $name commit -qm first --allow-empty; done
         git -C one submodule --quiet add ../two two; git -C one commit -qam two
         git init -q top; cd top; git submodule --quiet add ../one one; git submodule --quiet update --init --recursive
         git commit -qam one; git -C one worktree add -q ../../of-module
         git worktree add -q ../side; git -C ../side submodule --quiet update --init one
         git init -q late; git -C late commit -qm first --allow-empty; git submodule --quiet add ./late late; git submodule --quiet absorbgitdirs late
         git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../of-bare",
    );
    let commit = "git commit -q --allow-empty -m second && git log -1 --format=%s";
    for dir in ["top/one", "top/one/two", "of-module", "side", "side/one", "top/late", "of-bare"] {
        let identity = ["--env", "GIT_AUTHOR_NAME=a", "--env", "GIT_AUTHOR_EMAIL=a@b"];
        let committer = ["--env", "GIT_COMMITTER_NAME=a", "--env", "GIT_COMMITTER_EMAIL=a@b"];
        let ran = project.sh_in(dir, &[identity, committer].concat(), commit);
        assert_eq!((ran.stdout.as_str(), ran.code), ("second\n", 0), "{dir}: {ran:?}");
        assert!(ran.stderr.contains("with its git directory"), "{dir}: {ran:?}");
    }
}

#[test]
fn a_spoilt_git_directory_does_not_widen_the_next_run() {
    let Some(project) = with_git("a spoilt git directory") else { return };
    project.host("git init -q . && git init -q project && mkdir project/sub && echo secret > key");
    // The instance lies in the outer work tree, which is why that is refused; the inner one is what counts.
    project.sh("rm -rf .git/HEAD .git/objects; mv .git gone");
    let ran = project.sh_in("project/sub", &[], "cat ../../key");
    assert!(ran.code != 0 && !ran.stdout.contains("secret"), "{ran:?}");
    assert!(ran.stderr.contains("is not taken as the project root"), "{ran:?}");
}

#[test]
fn a_home_that_is_a_work_tree_is_not_the_root() {
    let Some(project) = with_git("a home that is a work tree") else { return };
    project.host("mkdir -p person/src/app person/.config/app && git init -q person && git init -q person/.config && echo secret > person/key");
    let home = project.instance.dir().join("person");
    for (dir, key) in [("person/src/app", "../../key"), ("person/.config/app", "../../key")] {
        let mut command = project.command(&["--", "sh", "-c", &format!("cat {key}; ls -A ../..")]);
        let ran =
            ran(command.env("HOME", &home).current_dir(project.instance.dir().join(dir)).output().unwrap());
        assert!(!ran.stdout.contains("secret") && !ran.stdout.contains("key"), "{dir}: {ran:?}");
        assert!(ran.stderr.contains("is not taken as the project root"), "{dir}: {ran:?}");
    }
    let control = project.sh_in("person/src/app", &[], "cat ../../key");
    assert_eq!(control.stdout, "secret\n", "the control: another home: {control:?}");
}

#[test]
fn another_owner_or_file_system_ends_the_search() {
    let Some(project) = with_git("owners and file systems") else { return };
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        picoclaw_testing::skip!("only root changes owners and mounts");
        return;
    }
    project
        .host("git init -q tree && mkdir -p tree/sub tree/disk && echo secret > tree/key && chmod 755 tree");
    let secret = "cat ../key";
    assert_eq!(project.sh_in("tree/sub", &[], secret).stdout, "secret\n", "the control");
    let mount = format!(
        "mount -t tmpfs none {0} && cd {0} && exec \"$@\"",
        project.instance.dir().join("tree/disk").display()
    );
    let mut command = project
        .instance
        .wrapped(&["unshare", "-m", "sh", "-c", &mount, "sh"], &["run", "--", "sh", "-c", secret]);
    let other_disk = ran(command.output().unwrap());
    assert!(
        other_disk.code != 0 && other_disk.stderr.contains("another owner or file system"),
        "{other_disk:?}"
    );
    for owned in ["tree", "tree/.git"] {
        project.host(&format!("chown 12345 {owned}"));
        let ran = project.sh_in("tree/sub", &[], secret);
        assert!(ran.code != 0 && ran.stderr.contains("another owner or file system"), "{owned}: {ran:?}");
        project.host(&format!("chown 0 {owned}"));
    }
}

#[test]
fn a_root_that_only_a_manifest_tells_is_read() {
    let Some(project) = Project::new("roots by manifest") else { return };
    for (name, text) in [
        ("Cargo.toml", "[workspace]\nmembers = [\"one\"]\n"),
        ("package.json", "{\"workspaces\": [\"one\"]}"),
        ("pnpm-workspace.yaml", "packages: [one]\n"),
        ("go.work", "go 1.20\n"),
        ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"one\"]\n"),
    ] {
        project.host("rm -rf many && mkdir -p many/one many/two && echo shared > many/two/file");
        project.file(&format!("many/{name}"), text);
        let ran =
            project.sh_in("many/one", &[], "cat ../two/file && echo mine > mine && echo evil > ../two/evil");
        assert_eq!(ran.stdout, "shared\n", "{name}: {ran:?}");
        assert!(ran.stderr.contains("Read-only file system") && ran.stderr.contains(name), "{name}: {ran:?}");
        assert_eq!(project.read("many/one/mine"), "mine\n", "{name}");
        assert!(!project.instance.dir().join("many/two/evil").exists(), "{name}");
        let alone = project.sh_in("many/one", &["--root", "none"], "cat ../two/file");
        assert_eq!((alone.stdout.as_str(), alone.code), ("", 1), "{name}: the control: {alone:?}");
    }
}

#[test]
fn a_link_that_leads_out_is_named_with_the_flag_that_shows_it() {
    let Some(project) = Project::new("links that lead out") else { return };
    project.host("mkdir data && echo data > data/file && ln -s ../data project/data && echo x > .hidden && ln -s ../.hidden project/h");
    let ran = project.sh("cat data/file");
    let data = project.instance.dir().canonicalize().unwrap().join("data");
    let want =
        format!("leads to `{0}`, which is not visible in the cage; `--ro {0}` shows it", data.display());
    assert!(ran.code != 0 && ran.stderr.contains(&want), "{ran:?}");
    assert!(!ran.stderr.contains(".hidden"), "what is hidden by its name is not proposed: {ran:?}");
    let flag = format!("{}", data.display());
    let shown = project.run(&["--ro", &flag, "--", "cat", "data/file"]);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("data\n", ""), "{shown:?}");
    let named = project.run(&["--", "cat", Path::new(&flag).join("file").to_str().unwrap()]);
    assert!(named.stderr.contains(&format!("`--ro {flag}/file` shows it")), "{named:?}");
    assert!(!project.sh("true").stderr.contains("hint"), "the control: nothing failed");
}

#[test]
fn a_dependency_beside_the_project_and_a_program_of_the_home_are_named() {
    let Some(project) = Project::new("what a line and a manifest name") else { return };
    project
        .host("mkdir lib bin && printf '#!/bin/sh\\necho tool\\n' > bin/own-tool && chmod +x bin/own-tool");
    let home = project.instance.dir().canonicalize().unwrap();
    project
        .file("project/Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nlib = { path = \"../lib\" }\n");
    let failed = project.sh("false");
    assert!(failed.stderr.contains(&format!("`--ro {}/lib` shows it", home.display())), "{failed:?}");
    assert!(!project.sh("true").stderr.contains("hint"), "the control: nothing failed");
    let path = format!("{}/bin:/usr/bin:/bin", home.display());
    let tool = format!("{}/bin/own-tool", home.display());
    let run = |arguments: &[&str]| ran(project.command(arguments).env("PATH", &path).output().unwrap());
    let missed = run(&["--", "sh", "-c", "own-tool"]);
    assert!(missed.code == 127 && missed.stderr.contains(&format!("`--ro {tool}` shows it")), "{missed:?}");
    assert_eq!(run(&["--ro", &tool, "--", "sh", "-c", "own-tool"]).stdout, "tool\n");
    let substituted = run(&["--", "cat", "/dev/fd/63"]);
    assert!(
        substituted.code == 1 && substituted.stderr.contains("only the standard streams pass"),
        "{substituted:?}"
    );
}

#[test]
fn a_failed_command_is_followed_by_the_flag_that_it_lacks() {
    let Some(project) = with_git("hints") else { return };
    project.host("mkdir data && cd project && git init -q . && git init -q nested && echo x > .envrc && mkdir .vscode && echo x > .vscode/tasks.json && git init -q --bare ../data/r.git && git remote add r ../data/r.git");
    let base = project.instance.dir().canonicalize().unwrap();
    let data = base.join("data");
    let _socket = UnixListener::bind(base.join("project/socket")).unwrap();
    let socket = format!("`{}/project/socket` is not visible", base.display());
    let first = |name: &str| format!("make it first, then `--rw {}/{name}`", base.display());
    for (why, line, flag) in [
        ("a file to be made elsewhere", "touch ../data/new", format!("`--ro {}` shows it", data.display())),
        ("a directory of a line", "cd . && ls ../data", format!("`--ro {}` shows it", data.display())),
        ("a protected file", "echo y >> .envrc", "`--unprotect .envrc` lets".to_owned()),
        ("a repository that is removed", "rm -rf nested", "`--unprotect nested/.git` lets".to_owned()),
        ("what git removes", "git clean -fdxq && false", "`--unprotect .vscode` lets".to_owned()),
        ("a package", "false || pip install six", "`--net host` opens it, `--cache shared` shows".to_owned()),
        ("another user", "exit 1; sudo true", "a cage has one user, which `sudo` cannot change".to_owned()),
        ("a new file of the home", "touch ../new", first("new")),
        ("a work tree beside it", "git worktree add ../tree", first("tree")),
        ("a remote beside it", "git ls-remote r", format!("`--ro {}/r.git` shows it", data.display())),
        ("a socket of the host", "cat socket", socket),
        ("hooks of git", "exit 1; pre-commit install", "`--unprotect .git/hooks` lets".to_owned()),
        ("a mount", "exit 1; mount -t tmpfs x /mnt", "a cage has no capability for `mount`".to_owned()),
        ("another cage", "exit 1; unshare -r true", "`unshare` gets no namespaces".to_owned()),
        ("a descriptor", "cat <&5", "only the standard streams pass".to_owned()),
    ] {
        let ran = project.sh(line);
        assert!(ran.code != 0 && ran.stderr.contains(&flag), "{why}: {ran:?}");
        let is_git = ran.stderr.contains("`.git` is protected");
        assert!(!is_git || line.contains("clean"), "{why}: what is not the cause is not named: {ran:?}");
    }
    for line in [
        "false",
        "grep qqzz .envrc",
        "grep -r qqzz .",
        "test -e nested/qqzz",
        "exit 1; cargo install --offline --path .",
    ] {
        let ran = project.sh(line);
        assert!(ran.code != 0 && !ran.stderr.contains("hint"), "nothing is known of it: {ran:?}");
    }
}

#[test]
fn the_variables_of_builds_pass_and_no_others() {
    let Some(project) = Project::new("variables of builds") else { return };
    let mut command = project.command(&["--", "sh", "-c", "echo $CI,$NODE_ENV,$OTHER,$DEBUG"]);
    command.envs([("CI", "1"), ("NODE_ENV", "test"), ("OTHER", "x"), ("DEBUG", "https://me:pw123456@host/")]);
    let ran = crate::test_instance::ran(command.output().unwrap());
    assert_eq!(ran.stdout, "1,test,,\n");
    for (name, is_named) in [("OTHER", true), ("DEBUG", true), ("CI", false)] {
        let note = format!("your `{name}` does not pass into the cage; `--pass {name}` passes it\n");
        assert_eq!(ran.stderr.contains(&note), is_named, "{name}: {ran:?}");
    }
    let mut command = project.command(&["--", "sh", "-c", "echo found"]);
    let ran = crate::test_instance::ran(command.env_remove("PATH").output().unwrap());
    assert_eq!(ran.stdout, "found\n", "without a search path: {ran:?}");
}

#[test]
fn a_file_in_the_hosts_tmp_that_stays_as_it_is_is_named() {
    let Some(project) = Project::new("a file in /tmp") else { return };
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let path = file.path().to_str().unwrap();
    let ran = project.sh(&format!("echo x > {path}"));
    assert!(ran.code == 0 && ran.stderr.contains(&format!("`--rw {path}` shows it")), "{ran:?}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "", "it stays as it is");
    let shown = project.run(&["--rw", path, "--", "sh", "-c", &format!("echo x > {path}")]);
    assert_eq!((shown.stderr.as_str(), std::fs::read_to_string(path).unwrap()), ("", "x\n".to_owned()));
}

#[test]
fn a_configured_workspace_does_not_widen() {
    let Some(project) = with_git("configured workspaces") else { return };
    project.host("git init -q tree && mkdir tree/ws && echo secret > tree/key");
    let config = r#"{"agents": {"defaults": {"workspace": "{dir}/tree/ws"}}, "isolation": {"enabled": true}, "tools": {"exec": {"enable_deny_patterns": false}}}"#;
    project.instance.configure(config);
    let line = r#"{"command": "git status; cat $(dirname $PWD)/key; echo done"}"#;
    let ran = project.instance.tool("exec", line);
    assert!(!ran.stdout.contains("secret"), "{ran:?}");
}

#[test]
fn a_project_that_is_entered_through_a_link_has_both_names() {
    let Some(project) = Project::new("a project behind a link") else { return };
    project.host(
        "mkdir -p project/sub store && echo x > project/sub/file && ln -s project link && ln -s .. store/up",
    );
    let base = project.instance.dir().canonicalize().unwrap();
    let enter = |named: &str, line: &str| {
        let named = base.join(named);
        let mut command = project.command(&["--", "sh", "-c", line, "sh"]);
        ran(command.arg(&named).current_dir(&named).env("PWD", &named).output().unwrap())
    };
    for named in ["link/sub", "store/up/project/sub", "project/sub"] {
        let ran = enter(named, "cat \"$1/file\"; echo \"$PWD\"; readlink -f \"$1\"");
        let want = format!("x\n{}\n{}\n", base.join(named).display(), base.join("project/sub").display());
        assert_eq!(ran.stdout, want, "{named}: {ran:?}");
    }
    // The name is one of the cage alone, and shows nothing else.
    project.host("echo key > store/key");
    assert_ne!(enter("store/up/project/sub", "cat \"$1/../../../../store/key\" || exit 1").code, 0);
    // A name that does not lead to the directory counts for nothing.
    let mut command = project.command(&["--", "sh", "-c", "pwd"]);
    let wrong = ran(command.env("PWD", base.join("store")).output().unwrap());
    assert_eq!(wrong.stdout, format!("{}\n", project.dir().canonicalize().unwrap().display()), "{wrong:?}");
}
