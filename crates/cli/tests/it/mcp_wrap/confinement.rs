//! What a wrapped server can reach: each attempt works without the wrap, and comes to nothing with it.

use super::Den;
use serde_json::{Value, json};
use std::net::TcpListener;

#[test]
fn what_a_server_tries_works_without_the_wrap_and_fails_within() {
    let Some(den) = Den::with_config(
        "confinement",
        r#"{"model_list": [{"model_name": "m", "model": "openai/m", "api_key": "sk-configured-secret"}]}"#,
    ) else {
        return;
    };
    let key = den.file(".ssh/id_ed25519", "a private key");
    let project = den.file("project/notes.txt", "the host's project");
    let config = den.instance.home().join("config.json");
    let dir = den.instance.dir();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pins = den.instance.home().join("state/pins");
    std::fs::create_dir_all(&pins).unwrap();
    let target = pins.join("wrap-x.json");
    let mut bare = den.bare(&[]);
    let mut wrapped = den.wrap(&[], &[]);
    for (why, what, works) in [
        ("somebody's key", format!("read {}", key.display()), "a private key"),
        ("the instance's secrets", format!("read {}", config.display()), "sk-configured-secret"),
        ("the host's project", format!("read {}", project.display()), "the host's project"),
        ("the home directory", format!("list {}", dir.display()), ".ssh"),
        ("another process's environment", format!("read /proc/{}/environ", std::process::id()), ""),
        ("the network", format!("connect 127.0.0.1:{port}"), "connected"),
    ] {
        let free = bare.look(&what);
        assert!(!free.starts_with("no:") && free.contains(works), "the control, {why}: {free}");
        let held = wrapped.look(&what);
        // The way to its own environment is all there is of the home directory.
        assert!(held.starts_with("no:") || held == "home", "{why}: {held}");
    }
    for (why, path) in [("its own pin", &target), ("somebody's start-up file", &dir.join(".bashrc"))] {
        assert_eq!(bare.look(&format!("write {}", path.display())), "written", "the control, {why}");
        assert!(path.exists(), "the control, {why}");
        std::fs::remove_file(path).unwrap();
        // In a private `/tmp` the attempt may pass; it must not reach the host.
        wrapped.look(&format!("write {}", path.display()));
        assert!(!path.exists(), "{why}");
    }
}

#[test]
fn a_server_knows_a_minimal_environment_and_what_it_was_given() {
    let Some(den) = Den::new("the environment") else { return };
    let seen = |options: &[&str]| -> Value {
        let script = den.script("server.py");
        let words = [options, &["--name", "env", "--", "/usr/bin/python3", &script]].concat();
        let mut command = den.command(&words);
        command
            .env("GITHUB_TOKEN", "ghp-given")
            .env("ANTHROPIC_API_KEY", "sk-ant")
            .env("SSH_AUTH_SOCK", "/run/agent");
        command.env("PICOCLAW_LOG_LEVEL", "error");
        serde_json::from_str(&super::Server::start(command).look("environment")).unwrap()
    };
    let plain = seen(&[]);
    for name in ["GITHUB_TOKEN", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "PICOCLAW_HOME", "PICOCLAW_LOG_LEVEL"]
    {
        assert_eq!(plain.get(name), None, "{name} stays here");
    }
    let own = den.instance.home().join("runtime-user-env/mcp/env");
    assert_eq!(plain["HOME"], own.join("home").to_str().unwrap(), "a home of its own");
    assert_eq!(plain["PWD"], own.join("home").to_str().unwrap(), "which it works in");
    let given = seen(&["--pass", "GITHUB_TOKEN", "--pass", "NOT_THERE", "--env", "MODE=test"]);
    assert_eq!((&given["GITHUB_TOKEN"], &given["MODE"]), (&json!("ghp-given"), &json!("test")));
    assert_eq!((given.get("ANTHROPIC_API_KEY"), given.get("NOT_THERE")), (None, None));
}

#[test]
fn what_the_operator_shows_is_seen_and_no_more() {
    let Some(den) = Den::new("exposures") else { return };
    let shown = den.file("shown/a.txt", "an argument");
    let other = den.file("other/b.txt", "another");
    let (shown_dir, other_dir) = (shown.parent().unwrap().display(), other.parent().unwrap().display());
    let (shown_arg, other_arg) = (format!("dir={shown_dir}"), other_dir.to_string());
    for (why, options, what, want) in [
        (
            "a path in its own command line can be read",
            &[][..],
            format!("read {}", shown.display()),
            "an argument",
        ),
        ("and not be written", &[], format!("write {}", shown.display()), "no:"),
        ("another cannot even be read", &[], format!("read {}", other.display()), "no:"),
        ("--ro shows it", &["--ro", &other_arg], format!("read {}", other.display()), "another"),
        ("read-only", &["--ro", &other_arg], format!("write {}", other.display()), "no:"),
        ("--rw lets it write", &["--rw", &other_arg], format!("write {}", other.display()), "written"),
        ("--workspace too, and it works there", &["--workspace", &other_arg], "cwd".to_owned(), &other_arg),
        (
            "--workspace can be written",
            &["--workspace", &other_arg],
            format!("write {other_arg}/new"),
            "written",
        ),
    ] {
        let got = den.wrap(options, &[&shown_arg]).look(&what);
        assert!(got.starts_with(want), "{why}: {got}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let what = format!("connect 127.0.0.1:{}", listener.local_addr().unwrap().port());
    assert_eq!(den.wrap(&["--net", "host"], &[]).look(&what), "connected", "--net host shares the network");
}

#[test]
fn two_servers_share_nothing_and_one_keeps_its_home() {
    let Some(den) = Den::new("homes") else { return };
    let mut first = den.wrap(&["--name", "first"], &[]);
    let home = first.look("cwd");
    assert_eq!(first.look(&format!("write {home}/kept")), "written");
    let mut second = den.wrap(&["--name", "second"], &[]);
    assert_ne!(second.look("cwd"), home);
    assert!(second.look(&format!("read {home}/kept")).starts_with("no:"));
    drop(first);
    assert_eq!(den.wrap(&["--name", "first"], &[]).look(&format!("read {home}/kept")), "x", "a cache lasts");
}

#[test]
fn what_the_server_will_miss_is_said() {
    let Some(den) = Den::new("hints") else { return };
    den.file("dist/index.js", "");
    let server = den.wrap_command(&[
        "--",
        "true",
        "dist/index.js",
        den.instance.dir().to_str().unwrap(),
        "-x",
        "plain",
    ]);
    let (_, stderr) = server.end();
    assert!(stderr.contains("`dist/index.js` lies in the current directory"), "{stderr}");
    assert!(stderr.contains("is not shown: picoclaw's own files lie in it"), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("picoclaw mcp wrap:")).count(), 2, "{stderr}");
}
