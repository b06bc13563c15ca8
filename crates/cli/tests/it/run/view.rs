//! What a command in the cage sees, reaches and has.

use super::{Project, is_here, marker, ran};
use picoclaw_testing::wait_until;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_command_works_in_its_project_and_sees_little_else() {
    let Some(project) = Project::new("the view") else { return };
    project.file("project/mine", "mine\n");
    project.file("secret", "SECRET\n");
    project.file(".ssh/id_rsa", "SECRET\n");
    let dir = project.instance.dir().display().to_string();
    let home = project.instance.home().display().to_string();
    for (why, line, code, out) in [
        ("its working directory", "pwd", 0, format!("{dir}/project\n")),
        ("what lies there", "cat mine", 0, "mine\n".to_owned()),
        (
            "it writes there",
            "echo new > made && mkdir -p a/b && mv made a/b/made && cat a/b/made",
            0,
            "new\n".to_owned(),
        ),
        ("its neighbours are not there", "cat ../secret", 1, String::new()),
        ("nor is the home it was started from", &format!("ls {dir}/.ssh"), 2, String::new()),
        ("nor is the configuration", &format!("cat {home}/config.json"), 1, String::new()),
        ("nor is the ledger", &format!("ls {home}/ledger"), 2, String::new()),
        ("its own home can be written", "echo x > ~/x && cat ~/x && rm ~/x", 0, "x\n".to_owned()),
        (
            "so can its temporary directory",
            "f=$(mktemp) && rm $f && echo x > /tmp/x && cat /tmp/x",
            0,
            "x\n".to_owned(),
        ),
        ("/tmp is new each time", "test -e /tmp/x || echo gone", 0, "gone\n".to_owned()),
        ("the system is read-only", "touch /usr/x 2>/dev/null || echo no", 0, "no\n".to_owned()),
        (
            "so is everything above",
            "touch /x 2>/dev/null || mkdir /y 2>/dev/null || echo no",
            0,
            "no\n".to_owned(),
        ),
        (
            "it has no capability",
            "grep CapEff /proc/self/status",
            0,
            "CapEff:\t0000000000000000\n".to_owned(),
        ),
        ("and gains none", "grep NoNewPrivs /proc/self/status", 0, "NoNewPrivs:\t1\n".to_owned()),
        (
            "it is among its own",
            "test $(ls /proc | grep -c '^[0-9]') -lt 8 && echo few",
            0,
            "few\n".to_owned(),
        ),
        ("no descriptor is inherited", "ls /proc/self/fd | wc -l", 0, "4\n".to_owned()),
    ] {
        let ran = project.sh(line);
        assert_eq!((ran.code, ran.stdout), (code, out), "{why}: {}", ran.stderr);
    }
    assert_eq!(
        std::fs::read_to_string(project.dir().join("a/b/made")).unwrap(),
        "new\n",
        "it is really there"
    );
}

#[test]
fn flags_show_more_and_no_more_than_they_say() {
    let Some(project) = Project::new("exposures") else { return };
    project.file("data/file", "data\n");
    project.file("other/file", "other\n");
    let dir = project.instance.dir().display().to_string();
    let (data, at, etc) =
        (format!("{dir}/data"), format!("{dir}/data:/srv/data:rw"), format!("{dir}/data:/etc:rw"));
    let (here, outer) = (format!("{dir}/data::ro"), format!("{dir}/other:/srv:ro"));
    for (why, flags, line, out) in [
        ("the control: not shown", &[][..], "cat ../data/file 2>/dev/null || echo no", "no\n"),
        (
            "read-only",
            &["--ro", &data],
            "cat ../data/file; touch ../data/x 2>/dev/null || echo no",
            "data\nno\n",
        ),
        ("relative to the current directory", &["--ro", "../data"], "cat ../data/file", "data\n"),
        ("read-write", &["--rw", &data], "echo x > ../data/x && cat ../data/x && rm ../data/x", "x\n"),
        ("somewhere else", &["--expose", &at], "cat /srv/data/file; ls /srv", "data\ndata\n"),
        ("an empty target is the source", &["--expose", &here], "cat ../data/file", "data\n"),
        (
            "a nested one wins, whatever the order",
            &["--expose", &at, "--expose", &outer],
            "cat /srv/data/file /srv/file",
            "data\nother\n",
        ),
        ("over a place of the cage's own view", &["--expose", &etc], "ls /etc", "file\n"),
        (
            "the last one wins",
            &["--ro", &data, "--rw", &data],
            "touch ../data/y && rm ../data/y && echo yes",
            "yes\n",
        ),
    ] {
        if why.starts_with("a nested") {
            // Its mount point is made in the read-only one beforehand.
            project.file("other/data/x", "");
        }
        let ran = project.run(&[flags, &["--", "sh", "-c", line]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, out), "{why}: {}", ran.stderr);
    }
    let left: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"], "building a cage leaves nothing in what it shows");
    let elsewhere = project.run(&["--workspace", &data, "--", "sh", "-c", "pwd; cat file; ls ../project"]);
    assert_eq!(
        (elsewhere.code, elsewhere.stdout),
        (2, format!("{data}\ndata\n")),
        "another workspace: {}",
        elsewhere.stderr
    );
}

#[test]
fn the_configuration_applies_and_flags_come_on_top() {
    let Some(project) = Project::with_config(
        "the configuration",
        r#"{"isolation": {"enabled": false, "network": "host", "env": {"pass": ["PASSED_ON"]},
            "expose_paths": [{"source": "{dir}/data", "target": "/srv/data", "mode": "ro"}],
            "limits": {"open_files": 77}}}"#,
    ) else {
        return;
    };
    project.file("data/file", "data\n");
    let mut command = project.command(&["--", "sh", "-c", "cat /srv/data/file; ulimit -n; echo $PASSED_ON"]);
    let ran = crate::test_instance::ran(command.env("PASSED_ON", "yes").output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "data\n77\nyes\n"), "{}", ran.stderr);
    let own = format!("{}:/srv/data:ro", project.dir().display());
    let ran = project.run(&["--expose", &own, "--", "ls", "/srv/data"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, ""),
        "of two rules for one target the flag wins: {}",
        ran.stderr
    );
    let ran = project.sh("tail -n +3 /proc/net/dev | wc -l");
    assert_eq!(ran.stdout, "1\n", "no network unless a flag says so: {}", ran.stderr);
}

#[test]
fn the_network_is_a_private_loopback_unless_it_is_asked_for() {
    let Some(project) = Project::new("the network") else { return };
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let reach =
        format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo reached", outside.local_addr().unwrap().port());
    let interfaces = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort";
    let own = std::process::Command::new("sh").args(["-c", interfaces]).output().unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    for (net, listed, reached) in
        [(&[][..], "lo\n", 1), (&["--net", "none"], "lo\n", 1), (&["--net", "host"], own.as_str(), 0)]
    {
        let ran = project.run(&[net, &["--", "sh", "-c", interfaces]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, listed), "{net:?}: {}", ran.stderr);
        let ran = project.run(&[net, &["--", "bash", "-c", &reach]].concat());
        assert_eq!(ran.code, reached, "the host's loopback, with {net:?}: {ran:?}");
    }
    if !is_here("python3") {
        return;
    }
    let both = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n\
                client = socket.create_connection(server.getsockname())\nclient.sendall(b'heard')\n\
                print(server.accept()[0].recv(9).decode())";
    let ran = project.run(&["--", "python3", "-c", both]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "heard\n"),
        "server and client in one cage: {}",
        ran.stderr
    );
}

#[test]
fn secrets_of_the_environment_stay_outside() {
    let Some(project) = Project::new("the environment") else { return };
    let secret = marker();
    let mut command = project.command(&[
        "--env",
        "GIVEN=a=b c",
        "--env",
        "EMPTY=",
        "--",
        "sh",
        "-c",
        "env; cat /proc/*/environ /proc/*/cmdline",
    ]);
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "PICOCLAW_GATEWAY_TOKEN",
        "SSH_AUTH_SOCK",
        "MY_OWN",
        "LD_LIBRARY_PATH",
    ] {
        command.env(name, &secret);
    }
    let output = command.env("LANG", "C.UTF-8").env("TERM", "dumb").output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(!seen.contains(&secret), "{seen}");
    for (why, line) in [
        ("given", "GIVEN=a=b c"),
        ("given empty", "EMPTY="),
        ("passed", "LANG=C.UTF-8"),
        ("passed", "TERM=dumb"),
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{why}: `{line}` in {seen}");
    }
}

#[test]
fn a_file_that_is_too_large_is_named() {
    let config = r#"{"isolation": {"limits": {"file_size_mb": 8}}}"#;
    let Some(project) = Project::with_config("large files", config) else { return };
    for (line, is_named) in [
        ("exec head -c 9M /dev/zero > big", true),
        ("head -c 9M /dev/zero > big; exit $?", true),
        ("head -c 7M /dev/zero > big; exit 1", false),
    ] {
        let ran = project.sh(line);
        assert_eq!(ran.stderr.contains("`isolation.limits.file_size_mb`"), is_named, "{line}: {ran:?}");
    }
}

#[test]
fn threads_up_to_the_limit_are_named_after_a_run_that_failed() {
    let config = r#"{"isolation": {"limits": {"processes": 64}}}"#;
    let Some(project) = Project::with_config("the limit on processes", config) else { return };
    if !is_here("python3") {
        return;
    }
    let start = |count: usize, status: usize| {
        format!(
            "import os, threading, time\ntry:\n for _ in range({count}): threading.Thread(target=time.sleep, \
             args=(9,), daemon=True).start()\nexcept RuntimeError: pass\ntime.sleep(1)\nos._exit({status})"
        )
    };
    for (why, count, status, is_named) in [
        ("all of them", 100, 1, true),
        ("a command that did not fail", 100, 0, false),
        ("a failure of another kind", 20, 1, false),
    ] {
        let ran = project.run(&["--", "python3", "-c", &start(count, status)]);
        assert_eq!(ran.code, status as i32, "{why}: {ran:?}");
        assert_eq!(ran.stderr.contains("`isolation.limits.processes`"), is_named, "{why}: {ran:?}");
    }
}

#[test]
fn memory_is_bounded_for_the_whole_tree() {
    let Some(project) = Project::new("memory") else { return };
    if !is_here("python3") {
        return;
    }
    let hold = "import time\nheld = bytearray(90 << 20)\nfor at in range(0, len(held), 4096): held[at] = 1\ntime.sleep(3)";
    let two = format!("python3 -c '{hold}' & python3 -c '{hold}'; wait; echo unbounded");
    for (why, memory, line, code) in [
        ("the control: enough", "2G", two.as_str(), 0),
        ("two processes together", "128M", two.as_str(), 137),
    ] {
        let ran = project.run(&["--memory", memory, "--", "sh", "-c", line]);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert_eq!(ran.stderr.contains("memory limit reached (128 MiB)"), code != 0, "{why}: {ran:?}");
    }
    let one = project.run(&["--memory", "64M", "--", "python3", "-c", "bytearray(200 << 20)"]);
    assert_ne!(one.code, 0, "one process alone: {one:?}");
}

#[test]
fn a_full_tmp_is_named_after_a_run_that_failed() {
    let Some(project) = Project::new("full tmp") else { return };
    let fill = "head -c 64M /dev/zero > /tmp/big";
    let cleaned = format!("{fill} || {{ sleep 2; rm /tmp/big; exit 3; }}");
    let survived = format!("{fill}; true");
    let shared = fill.replace("/tmp", "/dev/shm");
    for (why, size, line, code, is_named) in [
        ("full", "16M", fill, 1, true),
        ("full, and removed by a program that cleans up", "16M", &cleaned, 3, true),
        ("full of shared memory", "16M", &shared, 1, true),
        ("a command that did not fail", "16M", &survived, 0, false),
        ("a failure of another kind", "16M", "head -c 8M /dev/zero > /tmp/big; exit 1", 1, false),
        ("enough", "128M", fill, 0, false),
        ("a file elsewhere", "16M", "head -c 64M /dev/zero > $TMPDIR/big; exit 1", 1, false),
    ] {
        let ran = project.run(&["--tmp", size, "--", "sh", "-c", line]);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        let said =
            ran.stderr.contains("picoclaw run: `/tmp` was full (16 of 16 MiB); raise it with --tmp SIZE\n");
        assert_eq!(said, is_named, "{why}: {ran:?}");
    }
}

/// Java, ssh and others take the home from `/etc/passwd`.
#[test]
fn the_home_of_the_password_file_is_the_cages_own() {
    for (why, config) in [("native", "{}"), ("bubblewrap", r#"{"isolation": {"backend": "bwrap"}}"#)] {
        let Some(project) = Project::with_config(&format!("the password file, {why}"), config) else {
            return;
        };
        if why == "bubblewrap" && !is_here("bwrap") {
            return;
        }
        let line = "home=$(getent passwd $(id -u) | cut -d: -f6); test $home -ef ~ && echo x > $home/mark && cat ~/mark; \
                    (echo x > /etc/passwd) 2>/dev/null || echo kept";
        let ran = project.sh(line);
        assert_eq!(ran.stdout, "x\nkept\n", "{why}: {ran:?}");
        // All else in it is the host's.
        let cage = project.sh("cat /etc/passwd").stdout;
        let host = std::fs::read_to_string("/etc/passwd").unwrap();
        let others = |text: &str| {
            let own = rustix::process::geteuid().as_raw().to_string();
            let is_other = |line: &&str| line.split(':').nth(2) != Some(&own);
            text.lines().filter(is_other).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(others(&cage), others(&host), "{why}");
    }
}

#[test]
fn processors_are_seen_and_not_changed() {
    let Some(project) = Project::new("the processors") else { return };
    let list = "/sys/devices/system/cpu/possible";
    let Ok(host) = std::fs::read_to_string(list) else {
        picoclaw_testing::skip!("`{list}` is not there");
        return;
    };
    assert_eq!(project.sh(&format!("cat {list}")).stdout, host);
    let ran = project.sh(
        "find /sys -writable; (echo x > /sys/devices/system/cpu/uevent) 2>&1; ls /sys/* /sys/devices/system",
    );
    assert!(ran.stdout.contains("Read-only file system"), "{ran:?}");
    assert!(
        !ran.stdout.contains("/sys/devices/system/cpu/cpu0\n") && !ran.stdout.contains("class"),
        "{ran:?}"
    );
}

#[test]
fn a_browser_that_fails_is_followed_by_a_hint() {
    let Some(project) = Project::new("browsers") else { return };
    let browser = project.file("project/chromium", "#!/bin/sh\nexit $1\n");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::copy(&browser, project.dir().join("other")).unwrap();
    for (words, is_told) in [
        (&["./chromium", "1"][..], true),
        (&["sh", "-c", "./chromium 1 | false"], true),
        (&["./chromium", "0"], false),
        (&["./chromium", "1", "--no-sandbox"], false),
        (&["./other", "1"], false),
    ] {
        let ran = project.run(&[&["--"], words].concat());
        assert_eq!(ran.stderr.contains("`--no-sandbox`"), is_told, "{words:?}: {ran:?}");
    }
}

#[test]
fn a_cage_in_a_cage_says_what_it_lacks() {
    let Some(project) = Project::new("nesting") else { return };
    let binary = project.command(&[]).get_program().to_str().unwrap().to_owned();
    let network = "python3 -c 'import socket; socket.socket()' 2>&1 | tail -n 1";
    let line = format!("echo in; ls -d /root/* /home/* 2>/dev/null; {network}; exit 5");
    let ran = project.run(&["--", &binary, "run", "--", "sh", "-c", &line]);
    if ran.code == 125 {
        // Landlock may be missing altogether.
        assert!(ran.stderr.contains("is not available on this host"), "{ran:?}");
        picoclaw_testing::skip!("this kernel has no Landlock");
        return;
    }
    let closed = "PermissionError: [Errno 1] Operation not permitted";
    assert_eq!((ran.code, ran.stdout), (5, format!("in\n{closed}\n")), "{}", ran.stderr);
    for lost in ["Landlock alone holds less than a cage", "there is no loopback"] {
        assert!(ran.stderr.contains(lost), "{lost}: {}", ran.stderr);
    }
}

#[test]
fn nothing_is_left_on_the_host() {
    let Some(project) = Project::new("what is left") else { return };
    let mark = marker();
    let planted = format!("/tmp/picoclaw-{mark}");
    for line in [
        format!(
            "sleep {mark} & (setsid sleep {mark} &) ; sh -c 'sleep {mark} & exec setsid sleep {mark}' & sleep 0.1"
        ),
        format!("echo x > {planted}; echo x > /dev/shm/picoclaw-{mark}"),
    ] {
        let ran = project.sh(&line);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(super::alive(&mark), 0, "when it has ended, so has everything it started");
    }
    assert!(
        !std::path::Path::new(&planted).exists()
            && !std::path::Path::new(&format!("/dev/shm/picoclaw-{mark}")).exists()
    );
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(project.instance.dir().to_str().unwrap()), "{mounts}");
    assert_eq!(std::fs::read_dir(project.dir()).unwrap().count(), 0, "nothing was made in the project");
}

#[test]
fn a_project_may_lie_beneath_a_directory_that_is_a_link_in_a_cage() {
    let Some(project) = Project::new("odd places") else { return };
    let Ok(place) = tempfile::tempdir_in("/var/tmp") else {
        picoclaw_testing::skip!("odd places: `/var/tmp` cannot be written to");
        return;
    };
    let neighbour = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    let mut command =
        project.command(&["--", "sh", "-c", "pwd; echo x > y; echo z > /var/tmp/z && ls -A /var/tmp"]);
    let done = command.current_dir(place.path()).output().unwrap();
    let here = place.path().display().to_string();
    let name = place.path().file_name().unwrap().to_string_lossy().into_owned();
    let seen: Vec<_> = std::str::from_utf8(&done.stdout).unwrap().lines().collect();
    for want in [here.as_str(), name.as_str(), "z"] {
        assert!(seen.contains(&want), "{want}: {done:?}");
    }
    let neighbour = neighbour.path().file_name().unwrap().to_str().unwrap();
    assert!(!seen.contains(&neighbour), "what lies beside it on the host: {done:?}");
    assert!(place.path().join("y").exists(), "what is written there is there");
    assert!(!std::path::Path::new("/var/tmp/z").exists(), "and what is written beside it is not");
}

#[test]
fn what_the_operator_names_in_a_temporary_directory_is_there() {
    for backend in ["native", "bwrap"] {
        let config = format!(r#"{{"isolation": {{"backend": "{backend}"}}}}"#);
        let Some(project) = Project::with_config("temporary directories", &config) else { return };
        if backend == "bwrap" && !is_here("bwrap") {
            return;
        }
        for top in ["/tmp", "/var/tmp"] {
            let Ok(place) = tempfile::tempdir_in(top) else {
                picoclaw_testing::skip!("temporary directories: `{top}` cannot be written to");
                continue;
            };
            let (program, data) = (place.path().join("prog"), place.path().join("data"));
            std::fs::write(&program, "#!/bin/sh\necho ran\n").unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            std::fs::create_dir(&data).unwrap();
            std::fs::write(data.join("file"), "data\n").unwrap();
            let (program, data) = (program.to_str().unwrap(), data.to_str().unwrap());
            let ran = project.run(&["--", program]);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "ran\n"), "{backend} {program}: {ran:?}");
            let (file, elsewhere) = (format!("{data}/file"), format!("{data}:/var/tmp/else/where:ro"));
            for (flags, shown) in [
                (["--ro", data], file.as_str()),
                (["--rw", data], &file),
                (["--expose", &format!("{data}::ro")], &file),
                (["--expose", &elsewhere], "/var/tmp/else/where/file"),
            ] {
                let ran = project.run(&[&flags[..], &["--", "cat", shown]].concat());
                assert_eq!((ran.code, ran.stdout.as_str()), (0, "data\n"), "{backend} {flags:?}: {ran:?}");
            }
            let control = project.run(&["--", "cat", &file]);
            assert_eq!((control.code, control.stdout.as_str()), (1, ""), "an argument alone shows nothing");
        }
    }
}

#[test]
fn a_change_above_a_hidden_path_is_reported_once() {
    let Some(project) = Project::new("what is above a hidden path") else { return };
    let store = project.instance.dir().join("store");
    std::fs::create_dir_all(store.join("deep")).unwrap();
    let store = store.to_str().unwrap();
    let line = format!("echo x > {store}/deep/.envrc; mv {store}/deep {store}/other");
    let mut command = project.command(&["--rw", store, "--", "sh", "-c", &line]);
    let told = ran(command.env("PICOCLAW_HOME", format!("{store}/deep/home")).output().unwrap());
    assert!(told.stderr.contains("busy"), "the directory is pinned: {told:?}");
    assert_eq!(told.stderr.matches(".envrc").count(), 1, "{told:?}");
}

/// A mount over a file is gone when the file is replaced.
#[test]
fn a_file_of_the_instance_that_is_replaced_stays_hidden() {
    for backend in ["auto", "bwrap"] {
        let Some(project) = Project::new("what an exposed tree hides") else { return };
        if backend == "bwrap" && !is_here("bwrap") {
            continue;
        }
        let store = project.instance.dir().join("store");
        let home = store.join("home");
        std::fs::create_dir_all(&home).unwrap();
        let text = format!(r#"{{"isolation": {{"backend": "{backend}"}}}}"#);
        std::fs::write(home.join("config.json"), &text).unwrap();
        let line = "cat home/config.json; touch up; until test -e go; do sleep 0.05; done; \
                    cat home/config.json; echo evil >> home/config.json; mv home other; ls";
        let line = format!("cd {}; {line}", store.display());
        let mut command = project.command(&["--rw", store.to_str().unwrap(), "--", "sh", "-c", &line]);
        command.env("PICOCLAW_HOME", &home).stdout(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the command runs", || store.join("up").exists());
        std::fs::write(home.join("draft"), &text).unwrap();
        std::fs::rename(home.join("draft"), home.join("config.json")).unwrap();
        std::fs::write(store.join("go"), "").unwrap();
        let shown = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(shown, "go\nhome\nup\n", "{backend}");
        assert_eq!(std::fs::read_to_string(home.join("config.json")).unwrap(), text, "{backend}");
    }
}
