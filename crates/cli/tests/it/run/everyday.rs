//! Everyday work, from a project's directory.

use super::pty::{Terminal, can_give_a_terminal};
use super::{Project, SYSTEM_PATH, is_here};
use crate::test_instance::ran;
use std::os::unix::fs::PermissionsExt;

/// A small project for every tool.
fn with_config_file(why: &str) -> Option<Project> {
    let project = Project::new(why)?;
    project.file("project/page", "a page");
    project.file("project/Makefile", "all: a b c d\na b c d:\n\t@touch $@\n");
    project.file(
        "project/package.json",
        r#"{"name": "n", "version": "1.0.0", "scripts": {"test": "node -e \"console.log(6*7)\""}}"#,
    );
    project.file(
        "project/Cargo.toml",
        "[package]\nname = \"c\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    project.file("project/src/lib.rs", "#[test]\nfn adds() { assert_eq!(1 + 1, 2) }\n");
    project.file(
        ".gitconfig",
        "[user]\n\tname = A Person\n\temail = person@example.org\n[alias]\n\tst = status\n",
    );
    Some(project)
}

#[test]
fn everyday_commands_work() {
    let Some(project) = with_config_file("everyday commands") else { return };
    let serve = "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & \
        for try in $(seq 200); do curl -sf http://127.0.0.1:8123/page && break; sleep 0.05; done";
    let commit = "git init -q . && git add -A && git commit -qm x && git log --format='%an %ae'";
    for (tools, line, want) in [
        (&["top"][..], "top -b -n1 | grep -c PID", "1\n"),
        (&["python3", "curl"], serve, "a page"),
        (&["node"], "node -e 'console.log(6 * 7)'", "42\n"),
        (&["node", "npm"], "npm test 2>&1 | tail -1", "42\n"),
        (&["git"], commit, "A Person person@example.org\n"),
        (&["make"], "make -s -j4 && ls a b c d | wc -l", "4\n"),
        (
            &["sqlite3"],
            "sqlite3 t.db 'create table t(a); insert into t values (42); select a from t'",
            "42\n",
        ),
        (&["gcc"], "printf 'int main(){return 7;}' > t.c && gcc t.c -o t && ./t; echo $?", "7\n"),
        (&["tar"], "tar cf - page | tar tf -", "page\n"),
        (&["fakeroot"], "fakeroot sh -c 'chown 5:6 page && stat -c %u:%g page'", "5:6\n"),
        (
            &["fakeroot", "tar"],
            "tar cf t.tar --owner=7 page && TAR_OPTIONS= fakeroot sh -c 'tar xf t.tar && stat -c %u page'",
            "7\n",
        ),
        (&["bash"], "bash -c 'cat <(echo a) <(echo b)'", "a\nb\n"),
    ] {
        if tools.iter().all(|tool| is_here(tool)) {
            let ran = project.sh(line);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, want), "{line}: {}", ran.stderr);
        }
    }
}

/// Managers of programs put links on `PATH` that lead elsewhere in the home.
#[test]
fn programs_that_managers_installed_in_a_home_run_and_its_keys_stay_hidden() {
    let Some(project) = Project::new("managers of programs") else { return };
    let home = project.instance.dir().to_owned();
    for place in [
        ".local/share/pipx/venvs/tool/bin",
        ".local/share/pnpm",
        ".local/share/mise/installs/tool/1/bin",
        ".asdf/shims",
        ".npm-global/lib/node_modules/tool",
        ".ghcup/bin",
    ] {
        let tool = project.file(&format!("{place}/tool"), "#!/bin/sh\necho it ran\n");
        std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let link = home.join(".local/bin/tool");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&tool, &link).unwrap();
        let mut command = project.command(&["--", "sh", "-c", "tool"]);
        command.env("PATH", format!("{}:{SYSTEM_PATH}", link.parent().unwrap().display()));
        let ran = ran(command.output().unwrap());
        assert_eq!(ran.stdout, "it ran\n", "{place}: {ran:?}");
    }
    if is_here("python3") {
        let version = "import sys; print('python%d.%d' % sys.version_info[:2])";
        let version = project.run(&["--", "python3", "-c", version]).stdout;
        let site = format!(".local/lib/{}/site-packages", version.trim());
        project.file(&format!("{site}/of_the_home.py"), "print('it ran')\n");
        for (why, line, want) in [
            ("a package of the home", "python3 -c 'import of_the_home'", "it ran\n"),
            (
                "not in an environment of its own",
                "python3 -m venv v; v/bin/python -c 'import of_the_home' 2>/dev/null || echo none",
                "none\n",
            ),
            (
                "its own package comes first",
                "d=$(python3 -m site --user-site); echo 'print(2)' > $d/of_the_home.py; python3 -c 'import of_the_home'",
                "2\n",
            ),
        ] {
            assert_eq!(project.sh(line).stdout, want, "{why}");
        }
        assert_eq!(
            std::fs::read_to_string(home.join(site).join("of_the_home.py")).unwrap(),
            "print('it ran')\n"
        );
    }
    project.file(".cache/ms-playwright/browser", "a browser");
    let ran = project.sh("cat $PLAYWRIGHT_BROWSERS_PATH/browser");
    assert_eq!(ran.stdout, "a browser", "{ran:?}");
    for hidden in [".npm-global/etc/npmrc", ".config/pnpm/rc", ".local/share/mise/other", ".cabal/config"] {
        let file = project.file(hidden, "CANARY");
        let ran = project.sh(&format!("cat {} 2>/dev/null || echo none", file.display()));
        assert_eq!(ran.stdout, "none\n", "{hidden}: {ran:?}");
    }
}

#[test]
fn toolchains_are_found_where_they_are() {
    let Some(project) = with_config_file("toolchains") else { return };
    let path = std::env::var("PATH").unwrap_or_default();
    let Some(home) = std::env::home_dir().filter(|home| home.join(".cargo/bin/cargo").exists()) else {
        picoclaw_testing::skip!("no cargo in the home directory");
        return;
    };
    let mut command = project.command(&["--timeout", "10m", "--", "cargo", "test", "--offline"]);
    let ran = ran(command.env("HOME", &home).env("PATH", format!("{path}:{SYSTEM_PATH}")).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("1 passed"), "{ran:?}");
    let mut bare = project.command(&[
        "--toolchain",
        "none",
        "--",
        "sh",
        "-c",
        "ls ~person 2>/dev/null; cargo --version",
    ]);
    let bare = bare
        .env("HOME", &home)
        .env("PATH", format!("{}:{SYSTEM_PATH}", home.join(".cargo/bin").display()))
        .output()
        .unwrap();
    assert_eq!(bare.status.code(), Some(127), "the control: without toolchains it is not there");
}

#[test]
fn a_long_pipeline_comes_to_its_end() {
    let Some(project) = Project::new("pipelines") else { return };
    let megabytes = if std::env::var_os("PICOCLAW_SOAK").is_some() { 100 } else { 10 };
    let line =
        format!("head -c {} /dev/zero | tr '\\0' a | fold -w 99 | sort | wc -l", megabytes * 1_000_000);
    let ran = project.sh(&line);
    let lines = (megabytes * 1_000_000_usize).div_ceil(99);
    assert_eq!((ran.code, ran.stdout.trim().parse()), (0, Ok(lines)), "{}", ran.stderr);
}

#[test]
fn an_editor_runs_on_a_terminal() {
    if !can_give_a_terminal() || !is_here("vim") {
        return;
    }
    let Some(project) = Project::new("an editor") else { return };
    let (code, shown) =
        Terminal::start(&project.command(&["--env", "TERM=xterm", "--", "vim", "-c", "q"])).end();
    assert_eq!(code, 0, "{shown}");
}

/// As a shell with an activated virtual environment has it.
#[test]
fn programs_of_the_project_are_found_along_path() {
    let config = r#"{"isolation": {"enabled": true}}"#;
    let Some(project) = Project::with_config("`PATH`", config) else { return };
    let program = project.file("project/bin/mine", "#!/bin/sh\necho mine\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let elsewhere = project.file("elsewhere/file", "");
    let theirs = project.file("venv/bin/theirs", "#!/bin/sh\necho theirs\n");
    std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(0o755)).unwrap();
    for venv in ["venv/pyvenv.cfg", "pyvenv.cfg"] {
        project.file(venv, "");
    }
    let venv = project.instance.dir().join("venv");
    let bin = program.parent().unwrap().display();
    let both = "mine; echo \"$VIRTUAL_ENV\"";
    for (why, path, venv, command, want) in [
        ("an absolute directory", format!("{bin}:{SYSTEM_PATH}"), "bin", &["sh", "-c", "mine"][..], "mine\n"),
        ("a relative one", format!("bin:{SYSTEM_PATH}"), "bin", &["sh", "-c", "cd /; mine"], "mine\n"),
        ("the command itself", format!("bin:{SYSTEM_PATH}"), "bin", &["mine"], "mine\n"),
        (
            "a virtual environment",
            format!("{bin}:{SYSTEM_PATH}"),
            program.parent().unwrap().to_str().unwrap(),
            &["sh", "-c", both],
            &format!("mine\n{bin}\n"),
        ),
        (
            "a directory that is no virtual environment",
            format!("{bin}:{SYSTEM_PATH}"),
            elsewhere.parent().unwrap().to_str().unwrap(),
            &["sh", "-c", both],
            "mine\n\n",
        ),
        (
            "a virtual environment outside the project",
            format!("{}/bin:{SYSTEM_PATH}", venv.display()),
            venv.to_str().unwrap(),
            &["sh", "-c", "theirs; echo x 2>/dev/null > $VIRTUAL_ENV/x || echo kept"],
            "theirs\nkept\n",
        ),
        (
            "the home as one",
            format!("{bin}:{SYSTEM_PATH}"),
            project.instance.dir().to_str().unwrap(),
            &["sh", "-c", both],
            "mine\n\n",
        ),
    ] {
        let mut run = project.command(&[&["--"], command].concat());
        let ran = ran(run.env("PATH", path).env("VIRTUAL_ENV", venv).output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, want), "{why}: {ran:?}");
    }
    // What an agent could have put there is not on the path of its commands.
    let planted = project.file("home/workspace/bin/mine", "#!/bin/sh\necho planted\n");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{SYSTEM_PATH}", planted.parent().unwrap().display());
    let mut exec = project.instance.command(&["tool", "exec", r#"{"command": "mine; bin/mine"}"#]);
    let exec = ran(exec.env("PATH", path).output().unwrap());
    assert_eq!(exec.stdout.matches("planted").count(), 1, "{exec:?}");
}
