//! What a model's command reaches while isolation is off, by effect. The commands are scripts in the workspace, so that
//! the guard's text analysis has no part in it.

use crate::run::is_here;
use crate::test_instance::{TestInstance, has_native_cage, host};
use std::os::unix::net::UnixListener;

const FULL: &str = r#"{"isolation": {"enabled": false}}"#;
const OFF: &str = r#"{"isolation": {"enabled": false}, "tools": {"exec": {"fence": "off"}}}"#;

/// Runs a program where user namespaces are refused, so that Landlock is the level of isolation.
const WITHOUT_NAMESPACES: &str = include_str!("hostile_children/without_namespaces.pl");

/// What a script in the workspace printed, and its own errors.
fn script(instance: &TestInstance, text: &str) -> String {
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("script.sh"), text).unwrap();
    let ran = instance.tool("exec", r#"{"command": "bash script.sh"}"#);
    ran.stdout + &ran.stderr
}

/// With a directory beside the instance that holds `SECRET` in a file, and a home of its own.
fn instance(config: &str) -> Option<TestInstance> {
    if !is_here("bash") || host()["landlock_abi"].is_null() {
        picoclaw_testing::skip!("no bash or no Landlock here, so there is no fence");
        return None;
    }
    let instance = TestInstance::with_config(config);
    for (file, text) in [
        ("outside/secret", "SECRET"),
        ("user/.ssh/id_rsa", "SECRET"),
        ("user/.netrc", "SECRET"),
        (
            "user/.gitconfig",
            "[user]\n\tname = A Person\n\temail = a@example.org\n[credential]\n\thelper = !echo SECRET\n",
        ),
        ("logs/a.log", "OPENED"),
        ("logs/b.txt", "SECRET"),
    ] {
        let path = instance.dir().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let home = instance.dir().join("user").display().to_string();
    Some(instance.with_env("HOME", &home))
}

#[test]
fn a_script_reads_nothing_outside_behind_the_full_fence() {
    let (Some(full), Some(off)) = (instance(FULL), instance(OFF)) else { return };
    for (why, line) in [
        ("a file outside", "cat {dir}/outside/secret"),
        ("a listing outside", "ls {dir}/outside | sed s/secret/SECRET/"),
        ("a key in the home", "cat ~/.ssh/id_rsa"),
        ("a listing of the home", "ls -A ~ | grep -q netrc && echo SECRET"),
        ("by a link in the workspace", "ln -sf {dir}/outside/secret link; cat link"),
        ("by a hard link", "ln {dir}/outside/secret hard; cat hard"),
        ("by a descriptor of a directory", "exec 3< {dir}/outside; cat /proc/self/fd/3/secret"),
        ("the configuration", "grep -q isolation {dir}/home/config.json && echo SECRET"),
        (
            "the environment of another process",
            "tr '\\0' '\\n' < /proc/{pid}/environ | grep -q PATH && echo SECRET",
        ),
        ("by copying", "cp {dir}/outside/secret copy; cat copy"),
        ("by moving", "mv {dir}/outside/secret moved; cat moved; cp moved {dir}/outside/secret"),
    ] {
        let line = |instance: &TestInstance| {
            line.replace("{dir}", instance.dir().to_str().unwrap())
                .replace("{pid}", &std::process::id().to_string())
        };
        assert!(script(&off, &line(&off)).contains("SECRET"), "the control: {why}");
        let got = script(&full, &line(&full));
        assert!(!got.contains("SECRET"), "{why}: {got}");
    }
}

#[test]
fn a_script_changes_nothing_outside_behind_the_full_fence() {
    let (Some(full), Some(off)) = (instance(FULL), instance(OFF)) else { return };
    for (why, line) in [
        ("a new file", "echo x > {dir}/outside/planted"),
        ("a directory", "mkdir {dir}/outside/planted"),
        ("a link", "ln -s x {dir}/outside/planted"),
        (
            "a socket",
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{dir}/outside/planted\")'",
        ),
        ("a rename", "echo x > mine; mv mine {dir}/outside/planted"),
    ] {
        let planted = |instance: &TestInstance| {
            let _ = script(instance, &line.replace("{dir}", instance.dir().to_str().unwrap()));
            instance.dir().join("outside/planted").symlink_metadata().is_ok()
        };
        assert!(planted(&off), "the control: {why}");
        let planted_path = off.dir().join("outside/planted");
        let _ = std::fs::remove_file(&planted_path).or_else(|_| std::fs::remove_dir(&planted_path));
        assert!(!planted(&full), "{why}");
    }
    let truncated = |instance: &TestInstance| {
        script(instance, &format!(": > {}/outside/secret", instance.dir().display()));
        std::fs::read(instance.dir().join("outside/secret")).unwrap().is_empty()
    };
    assert!(truncated(&off), "the control: emptying");
    assert!(!truncated(&full), "emptying");
}

/// Rules for paths within the workspace are looked up again at each start, where a command may have put a link.
#[test]
fn a_link_that_a_command_made_opens_nothing_at_the_next_start() {
    for (why, config) in [
        (
            "the fence",
            r#"{"isolation": {"enabled": false}, "tools": {"allow_write_paths": ["^RULE/shown/.*"]}}"#,
        ),
        (
            "the write fence",
            r#"{"isolation": {"enabled": false}, "tools": {"exec": {"fence": "writes"}, "allow_write_paths": ["^RULE/shown/.*"]}}"#,
        ),
        (
            "an exposure at its own place",
            r#"{"isolation": {"enabled": true, "expose_paths": [{"source": "WS/shown", "mode": "rw"}]}}"#,
        ),
        (
            "an exposure elsewhere",
            r#"{"isolation": {"enabled": true, "expose_paths": [{"source": "WS/shown", "target": "/srv/shown", "mode": "rw"}]}}"#,
        ),
    ] {
        let Some(instance) = instance("{}") else { return };
        if config.contains("true") && !has_native_cage(why) {
            continue;
        }
        let workspace = instance.workspace();
        std::fs::create_dir_all(&workspace).unwrap();
        let path = workspace.to_str().unwrap();
        let config = config.replace("WS", path).replace("RULE", &path.replace('.', r"\\."));
        std::fs::write(instance.home().join("config.json"), config).unwrap();
        let outside = instance.dir().join("outside");
        std::os::unix::fs::symlink(&outside, workspace.join("shown")).unwrap();
        let told = script(
            &instance,
            "echo planted > shown/planted; echo planted > /srv/shown/planted; cat shown/secret /srv/shown/secret",
        );
        assert!(!outside.join("planted").exists(), "{why}: {told}");
        assert!(!told.contains("SECRET") || why == "the write fence", "{why}: {told}");
    }
}

#[test]
fn rules_open_the_fence_for_what_they_name() {
    let Some(instance) = instance(FULL) else { return };
    let escaped = instance.dir().to_str().unwrap().replace('.', r"\\.");
    instance.configure(&format!(
        r#"{{"isolation": {{"enabled": false}}, "tools": {{
        "allow_read_paths": ["^{escaped}/logs/.*\\.log$"], "allow_write_paths": ["^{escaped}/outside/.*"]}}}}"#
    ));
    let dir = instance.dir().display();
    let got =
        script(&instance, &format!("cat {dir}/logs/a.log {dir}/logs/b.txt; echo x > {dir}/outside/new"));
    assert!(got.contains("OPENED") && !got.contains("SECRET"), "{got}");
    assert!(instance.dir().join("outside/new").exists(), "{got}");
    assert!(!script(&instance, &format!("echo x > {dir}/logs/a.log; cat {dir}/logs/a.log")).contains("x\n"));
}

#[test]
fn work_goes_on_behind_the_full_fence() {
    let Some(instance) = instance(FULL) else { return };
    for (why, needs, line, want) in [
        (
            "git, in the user's name",
            "git",
            "git init -q r && cd r && git commit -q --allow-empty -m x && git log -1 --format=%an",
            "A Person",
        ),
        ("git has no helper", "git", "git config --get-all credential.helper || echo none", "none"),
        ("make", "make", "printf 'all:\\n\\t@echo made > $@; cat $@\\n' > Makefile; make", "made"),
        (
            "renaming between directories",
            "perl",
            "mkdir -p a b; echo moved > a/f; perl -e 'rename(qw(a/f b/f)) or die $!'; cat b/f",
            "moved",
        ),
        ("a temporary file", "mktemp", "f=$(mktemp) && echo mine > $f && cat $f", "mine"),
        ("a here-document", "cat", "cat <<< here", "here"),
        (
            "python",
            "python3",
            "python3 -c 'import json, ssl, tempfile; tempfile.mkdtemp(); print(\"snake\")'",
            "snake",
        ),
        (
            "a pair of sockets",
            "python3",
            "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"pair\"); print(b.recv(4))'",
            "pair",
        ),
        ("a pipe line", "sort", "printf 'b\\na\\n' | sort | head -n 1 | tr a A", "A"),
        (
            "a C program",
            "cc",
            "printf 'int main(){return 0;}' > m.c && cc m.c -o m && ./m && echo built",
            "built",
        ),
    ] {
        if !is_here(needs) {
            continue;
        }
        let got = script(&instance, line);
        assert!(got.contains(want), "{why}: {got}");
    }
}

/// Cargo reads the settings of every directory above a project, and stops at one that it may not read.
#[test]
fn a_project_beneath_the_home_reads_cargos_settings_and_no_credentials() {
    let landlock = r#"{"isolation": {"enabled": true}}"#;
    for (config, wrapper) in [(FULL, &[][..]), (landlock, &["perl", "-e", WITHOUT_NAMESPACES])] {
        let Some(instance) = instance(config).filter(|_| wrapper.is_empty() || is_here("perl")) else {
            return;
        };
        let cargo = instance.dir().join("user/.cargo");
        std::fs::create_dir_all(&cargo).unwrap();
        std::fs::write(cargo.join("credentials.toml"), "SECRET").unwrap();
        std::fs::create_dir_all(instance.workspace()).unwrap();
        let dir = cargo.display();
        let text =
            format!("cat {dir}/config.toml {dir}/credentials.toml; ls {dir}; echo x > {dir}/config.toml");
        std::fs::write(instance.workspace().join("script.sh"), text).unwrap();
        for (settings, shown) in [
            ("[build]\njobs = 2 # OPENED\n", true),
            ("[registry]\ntoken = \"OPENED\"\n", false),
            ("[http]\nproxy = \"http://me:OPENED@example.org\"\n", false),
        ] {
            std::fs::write(cargo.join("config.toml"), settings).unwrap();
            let output = instance
                .wrapped(wrapper, &["tool", "exec", r#"{"command": "bash script.sh"}"#])
                .output()
                .unwrap();
            let got = String::from_utf8_lossy(&output.stdout);
            assert_eq!(got.contains("OPENED"), shown, "{config} {settings}: {got}");
            assert!(!got.contains("SECRET") && !got.contains("credentials.toml\n"), "{config}: {got}");
            assert_eq!(std::fs::read_to_string(cargo.join("config.toml")).unwrap(), settings);
        }
    }
}

#[test]
fn a_socket_of_the_host_is_closed_unless_it_is_allowed() {
    let connect = "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"socket\"); print(\"CONNECTED\")'";
    let allowed = r#"{"isolation": {"enabled": false, "unix_sockets": true}}"#;
    for (config, want) in [(FULL, false), (allowed, true)] {
        let Some(instance) = instance(config).filter(|_| is_here("python3")) else { return };
        std::fs::create_dir_all(instance.workspace()).unwrap();
        let _listener = UnixListener::bind(instance.workspace().join("socket")).unwrap();
        let got = script(&instance, connect);
        assert_eq!(got.contains("CONNECTED"), want, "{config}: {got}");
    }
}

/// Where nothing scopes signals, the processes of a tree are found through `/proc`.
#[test]
fn an_empty_proc_is_not_an_empty_tree() {
    let namespaces: &[&str] =
        if rustix::process::geteuid().is_root() { &["unshare", "-m"] } else { &["unshare", "-Urm"] };
    let hide = ["sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"];
    let hidden = [&["timeout", "30"], namespaces, &hide].concat();
    let can_hide = std::process::Command::new("timeout").args(&hidden[1..]).arg("true").output();
    if !can_hide.is_ok_and(|ran| ran.status.success()) {
        picoclaw_testing::skip!("/proc cannot be hidden here");
        return;
    }
    let instance = TestInstance::with_config(OFF);
    let mark = format!("9{}", std::process::id());
    let call = format!(r#"{{"command": "sleep {mark} & echo started"}}"#);
    let output = instance.wrapped(&hidden, &["tool", "exec", &call]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "it ends with its command: {output:?}");
    assert!(output.stdout.starts_with(b"started\n"), "{output:?}");
    let alive =
        std::process::Command::new("pgrep").args(["-f", &format!("^sleep {mark}$")]).output().unwrap();
    assert!(alive.stdout.is_empty(), "what it started ends too: {alive:?}");
}
