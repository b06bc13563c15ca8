//! `--cache`: which package caches a command has, and what it can change of them.

use super::Project;
use crate::test_instance::{Ran, ran};
use std::process::Stdio;

/// A line in the cage of a project whose operator has caches, credentials beside them among them.
fn caged(project: &Project, flags: &[&str], line: &str) -> Ran {
    let arguments = [flags, &["--", "sh", "-c", line]].concat();
    let mut command = project.command(&arguments);
    for name in
        ["CARGO_HOME", "npm_config_cache", "XDG_CACHE_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR", "GOPATH"]
    {
        command.env_remove(name);
    }
    command.env("HOME", project.instance.dir());
    ran(command.stdin(Stdio::null()).output().unwrap())
}

/// Each cache, as the command finds it.
const DIRECTORIES: &str = r#"cargo=${CARGO_HOME:-$HOME/.cargo}/registry/cache
npm=${npm_config_cache:-$HOME/.npm}/_cacache
uv=${UV_CACHE_DIR:-$XDG_CACHE_HOME/uv}/wheels-v5
maven=$HOME/.m2/repository
"#;

fn with_caches() -> Option<Project> {
    let project = Project::new("`--cache`")?;
    for (place, text) in [
        (".cargo/registry/cache/a.crate", "packed"),
        (".cargo/credentials.toml", "secret-token"),
        (".npm/_cacache/index", "packed"),
        (".npm/_logs/log", "secret-token"),
        (".cache/uv/wheels-v5/a.whl", "packed"),
        (".cache/uv/git-v0/config", "secret-token"),
        (".m2/repository/a.jar", "packed"),
        (".m2/settings.xml", "secret-token"),
    ] {
        project.file(place, text);
    }
    Some(project)
}

#[test]
fn shared_caches_are_read_and_what_a_run_adds_is_discarded() {
    let Some(project) = with_caches() else { return };
    let line = format!(
        "{DIRECTORIES}cat $cargo/a.crate $npm/index $uv/a.whl $maven/a.jar && rm $cargo/a.crate \
         && echo new > $maven/b.jar && echo new > $npm/index && cat $npm/index $maven/b.jar; \
         grep -rs secret-token $HOME $XDG_CACHE_HOME; echo searched"
    );
    for _ in 0..2 {
        let told = caged(&project, &["--cache", "shared"], &line);
        assert_eq!(told.stdout, "packedpackedpackedpackednew\nnew\nsearched\n", "{told:?}");
    }
    let base = project.instance.dir();
    let read = |place: &str| std::fs::read_to_string(base.join(place)).ok();
    assert_eq!(read(".cargo/registry/cache/a.crate").as_deref(), Some("packed"));
    assert_eq!(read(".npm/_cacache/index").as_deref(), Some("packed"));
    assert_eq!(read(".m2/repository/b.jar"), None);
}

#[test]
fn a_cache_that_leads_to_the_instance_is_not_shared() {
    let Some(project) = with_caches() else { return };
    let npm = project.instance.dir().join(".npm/_cacache");
    std::fs::remove_dir_all(&npm).unwrap();
    std::os::unix::fs::symlink(project.instance.home(), &npm).unwrap();
    let line = format!("{DIRECTORIES}ls -A $npm; cat $cargo/a.crate");
    let told = caged(&project, &["--cache", "shared"], &line);
    assert_eq!(told.stdout, "packed", "{told:?}");
}

#[test]
fn a_private_cache_is_kept_and_none_is_not() {
    let Some(project) = with_caches() else { return };
    let write = format!(
        "{DIRECTORIES}mkdir -p $npm $maven; ls -A $npm $maven; touch $npm/kept-file $maven/kept-file"
    );
    for (flags, kept) in
        [(&["--cache", "none"][..], false), (&[], false), (&[], true), (&["--cache", "none"], false)]
    {
        let told = caged(&project, flags, &write);
        assert_eq!(
            (told.code, told.stdout.matches("kept-file").count()),
            (0, if kept { 2 } else { 0 }),
            "{flags:?} {told:?}"
        );
    }
}

#[test]
fn a_backend_without_overlays_says_so() {
    let Some(project) = with_caches() else { return };
    if !super::is_here("bwrap") {
        return;
    }
    project.instance.configure(r#"{"isolation": {"backend": "bwrap"}}"#);
    let told = caged(&project, &["--cache", "shared"], "true");
    assert_eq!(told.code, 125, "{told:?}");
    assert!(
        told.stderr.contains("`--cache shared` needs a native cage: this host offers bubblewrap"),
        "{told:?}"
    );
}

/// A project may come with links where a cache of the operator's is to be.
#[test]
fn a_link_in_a_project_shares_nothing_of_the_home() {
    let Some(project) = with_caches() else { return };
    let base = project.instance.dir().to_owned();
    for place in [".ssh/id", "keys/registry/cache/id", "keys/http/id", "moved/.m2/repository/a.jar"] {
        project.file(place, "KEY\n");
    }
    project.host(
        "cd project && mkdir -p pip .cargo/registry ../pnpm && ln -s ../../.ssh pip/http && ln -s ../keys pip2
         ln -s ../../../keys/registry/cache .cargo/registry/cache && ln -s ../.ssh ../pnpm/store && ln -s project/pip2 ../pip3
         ln -s moved/.m2 ../m2",
    );
    let dir = project.dir();
    for (why, name, value, is_shared) in [
        ("a part is a link", "PIP_CACHE_DIR", dir.join("pip"), false),
        ("the cache is a link", "PIP_CACHE_DIR", dir.join("pip2"), false),
        ("a link leads to that link", "PIP_CACHE_DIR", base.join("pip3"), false),
        ("a directory above is", "CARGO_HOME", dir.join(".cargo"), false),
        ("outside of the project", "PNPM_HOME", base.join("pnpm"), false),
        ("the control: the cache was moved", "MAVEN_USER_HOME", base.join("m2"), true),
    ] {
        assert!(value.exists(), "{why}");
        let mut command =
            project.command(&["--cache", "shared", "--", "sh", "-c", "grep -rs KEY ~/..; echo searched"]);
        command.env("HOME", &base).env(name, &value).env("PICOCLAW_LOG_LEVEL", "warn");
        let told = ran(command.stdin(Stdio::null()).output().unwrap());
        assert!(told.stdout.ends_with("searched\n"), "{why}: {told:?}");
        assert_eq!(told.stdout.contains("KEY"), is_shared, "{why}: {told:?}");
        assert_eq!(told.stderr.contains("is not shared"), !is_shared, "{why}: {told:?}");
    }
}
