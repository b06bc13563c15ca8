//! Everyday work, from a project's directory.

use super::pty::{Terminal, can_give_a_terminal};
use super::{Project, SYSTEM_PATH, is_here};
use crate::test_instance::ran;

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
        (&["bash"], "bash -c 'cat <(echo a) <(echo b)'", "a\nb\n"),
    ] {
        if tools.iter().all(|tool| is_here(tool)) {
            let ran = project.sh(line);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, want), "{line}: {}", ran.stderr);
        }
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
