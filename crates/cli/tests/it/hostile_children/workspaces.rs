//! C3: system directories are no workspace, and a socket of the host in a workspace is no way out.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, is_here, is_root, outside};
use crate::mcp::wire::{Wire, text};
use crate::test_instance::{Ran, TestInstance, ran};
use picoclaw_testing::wait_until;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// System directories themselves.
const SYSTEM: &[&str] = &[
    "/etc", "/usr", "/var", "/run", "/dev", "/proc", "/sys", "/boot", "/lib", "/lib32", "/lib64", "/libx32",
    "/bin", "/sbin", "/opt", "/srv", "/tmp", "/var/tmp",
];

/// Beneath these nothing is a project.
const BENEATH: &[&str] = &[
    "/etc/ssl",
    "/dev/shm",
    "/proc/self",
    "/proc/sys",
    "/sys/kernel",
    "/boot/grub",
    "/lib/modules",
    "/usr/lib",
    "/usr/bin",
    "/usr/sbin",
    "/run/lock",
    "/run/systemd",
];

#[test]
fn a_system_directory_is_no_workspace_of_a_command() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Native) else { return };
    for place in SYSTEM.iter().chain(BENEATH).filter(|place| Path::new(place).is_dir()) {
        let name = place.replace('/', "-");
        let link = project.dir().join(&name);
        symlink(place, &link).unwrap();
        for (how, workspace) in [("by name", *place), ("behind a link", link.to_str().unwrap())] {
            let told = project.run(&["--workspace", workspace], &["true"]);
            faults.check(told.code == 125, format!("{place} {how}: {told:?}"));
            let says = told.stderr.contains("system directory") && told.stderr.contains("hint:");
            faults.check(told.code != 125 || says, format!("{place} {how}: no reason: {told:?}"));
        }
        for (words, code) in [
            (&["mcp", "wrap", "--workspace", place, "--", "true"][..], 125),
            (&["mcp", "serve", "--workspace", place], 2),
        ] {
            let told = project.instance.run(words);
            let says = told.stderr.contains("system directory") && told.stderr.contains("hint:");
            faults.check(told.code == code && says, format!("{words:?}: {told:?}"));
        }
        let mut command = project.command(&[], &["true"]);
        let output = command.current_dir(place).output().unwrap();
        faults.check(
            output.status.code() == Some(125),
            format!("{place} as the current directory: {output:?}"),
        );
    }
}

#[test]
fn a_system_directory_is_no_workspace_of_an_agent() {
    let mut faults = Faults::default();
    for place in SYSTEM.iter().chain(BENEATH).filter(|place| Path::new(place).is_dir()) {
        for config in [
            format!(r#"{{"agents": {{"defaults": {{"workspace": "{place}"}}}}}}"#),
            format!(r#"{{"agents": {{"list": [{{"id": "other", "workspace": "{place}"}}]}}}}"#),
        ] {
            let instance = TestInstance::with_config(&config);
            for words in [&["config", "check"][..], &["tool", "list_dir", "{}"], &["agent", "-m", "true"]] {
                let told = instance.run(words);
                let refused = told.code == 2 && told.stderr.contains(place);
                faults.check(refused, format!("{place} {words:?}: {told:?}"));
                if !refused {
                    // The others could write there.
                    break;
                }
            }
        }
    }
}

/// A directory of its own where projects may lie, if this user can make one there.
fn project_in(place: &str) -> Option<tempfile::TempDir> {
    if is_root() && place == "/run/user/0" && Path::new("/run").is_dir() && !Path::new(place).exists() {
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(place).ok()?;
    }
    let made = tempfile::tempdir_in(place).ok();
    if made.is_none() {
        picoclaw_testing::skip!("no project can be made in `{place}`");
    }
    made
}

#[test]
fn a_project_beneath_a_shared_directory_is_a_workspace() {
    let Some(project) = Project::new(Native) else { return };
    for place in ["/tmp", "/var/tmp", "/opt", "/srv", "/usr/local/src", "/run/user/0"] {
        let Some(dir) = project_in(place) else { continue };
        let mut command = project.command(&[], &["sh", "-c", "pwd; touch made"]);
        let output = command.current_dir(dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{place}: {output:?}");
        assert!(dir.path().join("made").exists(), "{place}");
    }
}

/// Sends to a socket by its path; says REACHED.
pub(super) const CONNECT: &str = "import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try: socket.socket(socket.AF_UNIX, kind).connect(sys.argv[1])
    except OSError: continue
    print('REACHED')";

/// Sockets that processes of the host have bound in one way or another; where they lie, beneath the project.
fn sockets(
    project: &Project,
) -> (Vec<UnixListener>, UnixDatagram, tempfile::TempDir, Vec<(&'static str, PathBuf)>) {
    let at = |name: &str| project.dir().join(name);
    std::fs::create_dir_all(at("deep/er")).unwrap();
    // What is mounted read-only over itself holds sockets too.
    std::fs::create_dir_all(at(".git/hooks")).unwrap();
    let mut listeners: Vec<_> = ["plain", "deep/er/nested", ".git/hooks/hooked", "before"]
        .map(|name| UnixListener::bind(at(name)).unwrap())
        .into();
    std::fs::rename(at("before"), at("renamed")).unwrap();
    symlink(at("plain"), at("linked")).unwrap();
    std::fs::hard_link(at("plain"), at("hard")).unwrap();
    // Bound by a relative name: through a link to the directory, as a process there would.
    let aside = tempfile::tempdir().unwrap();
    symlink(project.dir(), aside.path().join("here")).unwrap();
    listeners.push(UnixListener::bind(aside.path().join("here/through")).unwrap());
    let datagram = UnixDatagram::bind(at("datagram")).unwrap();
    let names =
        ["plain", "deep/er/nested", ".git/hooks/hooked", "renamed", "linked", "hard", "through", "datagram"]
            .map(|name| (name, at(name)));
    (listeners, datagram, aside, names.into())
}

fn masked(level: Level) {
    let mut faults = Faults::default();
    let Some(project) = Project::new(level) else { return };
    let (_listeners, _datagram, _aside, names) = sockets(&project);
    let relative = "import os, socket; os.chdir('deep'); s = socket.socket(socket.AF_UNIX); s.bind('relative'); s.listen(); \
                    open('up', 'w'); import time; time.sleep(50)";
    let mut server = std::process::Command::new("python3")
        .args(["-c", relative])
        .current_dir(project.dir())
        .spawn()
        .unwrap();
    wait_until("the server listens", || project.dir().join("deep/up").exists());
    let names = names.into_iter().chain([("deep/relative", project.dir().join("deep/relative"))]);
    for (name, path) in names {
        let path = path.to_str().unwrap();
        let control = outside(&project.dir(), &["python3", "-c", CONNECT, path]);
        assert_eq!(control.stdout, "REACHED\n", "the control: {name}: {control:?}");
        for net in ["none", "host"] {
            let told = project.python(&["--net", net], CONNECT, &[path]);
            faults.check(told.stdout.is_empty(), format!("{level:?}, network {net}: {name}: {told:?}"));
        }
        let control = outside(&project.dir(), &["python3", "-c", CONNECT, path]);
        assert_eq!(control.stdout, "REACHED\n", "afterwards it is as before: {name}: {control:?}");
    }
    server.kill().and_then(|()| server.wait()).unwrap();
}

#[test]
fn sockets_of_the_host_in_the_workspace_are_masked() {
    masked(Native);
}

#[test]
fn sockets_of_the_host_in_the_workspace_are_masked_in_bubblewrap() {
    masked(Bwrap);
}

#[test]
fn sockets_of_the_host_cannot_be_reached_without_namespaces() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Landlock) else { return };
    let beside = project.instance.dir().join("beside-socket");
    let _listeners =
        [project.dir().join("inside-socket"), beside.clone()].map(|at| UnixListener::bind(at).unwrap());
    for path in ["inside-socket", beside.to_str().unwrap()] {
        let told = project.python(&[], CONNECT, &[path]);
        faults.check(told.stdout.is_empty(), format!("{path}: {told:?}"));
    }
}

#[test]
fn sockets_of_the_host_in_an_exposed_directory_are_masked() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        std::fs::create_dir(project.instance.dir().join("data")).unwrap();
        let path = project.instance.dir().join("data/socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let (data, path) = (project.instance.dir().join("data"), path.to_str().unwrap().to_owned());
        let data = data.to_str().unwrap();
        let elsewhere = format!("{data}:/srv/data:ro");
        for (flags, path) in [
            (["--rw", data], path.as_str()),
            (["--ro", data], &path),
            (["--ro", &path], &path),
            (["--expose", &elsewhere], "/srv/data/socket"),
        ] {
            let told = project.python(&flags, CONNECT, &[path]);
            faults.check(told.stdout.is_empty(), format!("{level:?} {flags:?}: {told:?}"));
        }
    }
}

#[test]
fn a_socket_that_the_operator_exposes_by_its_path_can_be_used() {
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let path = project.instance.dir().join("agent.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let inside = project.dir().join("inside.sock");
        let _other = UnixListener::bind(&inside).unwrap();
        for path in [path.to_str().unwrap(), inside.to_str().unwrap()] {
            let told = project.python(&["--rw", path], CONNECT, &[path]);
            assert_eq!(told.stdout, "REACHED\n", "{level:?}: {path}: {told:?}");
        }
    }
}

#[test]
fn a_terminal_multiplexer_in_an_exposed_tree_is_out_of_reach() {
    if !is_here("tmux") {
        return;
    }
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let shared = project.instance.dir().join("shared");
        std::fs::create_dir(&shared).unwrap();
        let socket = shared.join("tmux.sock");
        let (shared, socket) = (shared.to_str().unwrap(), socket.to_str().unwrap());
        let marker = project.instance.dir().join("made-by-the-server");
        // The account of a test may have a shell that ends at once.
        let start = [
            "env",
            "SHELL=/bin/sh",
            "tmux",
            "-S",
            socket,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "sleep 50",
        ];
        let told = outside(&project.dir(), &start);
        assert_eq!(told.code, 0, "{told:?}");
        let line = format!("touch {}", marker.display());
        let attack = ["tmux", "-S", socket, "run-shell", &line];
        for net in ["none", "host"] {
            let told = project.run(&["--net", net, "--rw", shared], &attack);
            assert!(told.code != 0 && !marker.exists(), "{level:?}, network {net}: {told:?}");
        }
        assert_eq!(outside(&project.dir(), &attack).code, 0, "the control");
        assert!(marker.exists(), "the control");
        outside(&project.dir(), &["tmux", "-S", socket, "kill-server"]);
    }
}

#[test]
fn a_socket_of_the_host_in_the_home_of_a_command_is_masked() {
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let home = project.sh(&[], "echo $HOME").stdout.trim().to_owned();
        let path = format!("{home}/socket");
        // A socket's name is short; it is bound by a relative one.
        let serve = "import os, socket, sys, time; os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); \
                     s.bind('socket'); s.listen(); time.sleep(50)";
        let mut server = std::process::Command::new("python3").args(["-c", serve, &home]).spawn().unwrap();
        wait_until("the server listens", || Path::new(&path).exists());
        let connect = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).connect('socket'); print('REACHED')";
        let control = outside(&project.dir(), &["python3", "-c", connect, &home]);
        assert_eq!(control.stdout, "REACHED\n", "the control: {control:?}");
        let told = project.python(&[], connect, &[&home]);
        server.kill().and_then(|()| server.wait()).unwrap();
        assert!(told.stdout.is_empty() && told.stderr.contains("refused"), "{level:?}: {told:?}");
    }
}

#[test]
fn sockets_that_are_bound_later_are_masked_at_the_next_command() {
    for network in ["none", "host"] {
        for backend in ["native", "bwrap"] {
            let config = format!(
                r#"{{"isolation": {{"enabled": true, "backend": "{backend}", "network": "{network}"}}, "tools": {{"exec": {{"guard": "smart"}}}}}}"#
            );
            let instance = TestInstance::with_config(&config);
            if !is_here("python3") || instance.run(&["tool", "exec", r#"{"command": "true"}"#]).code != 0 {
                picoclaw_testing::skip!("this host has no {backend} backend");
                continue;
            }
            let workspace = instance.workspace();
            std::fs::write(workspace.join("connect.py"), CONNECT).unwrap();
            let mut wire = Wire::greeted(&instance, &[], &serde_json::json!({}));
            let connect = serde_json::json!({"command": "/usr/bin/python3 connect.py later"});
            assert!(!text(&wire.call("exec", connect.clone())).contains("REACHED"));
            let _listener = UnixListener::bind(workspace.join("later")).unwrap();
            // With an open network, sockets are counted as the children's own until the last command is gone.
            wait_until(&format!("masked: {backend}, network {network}"), || {
                !text(&wire.call("exec", connect.clone())).contains("REACHED")
            });
            let path = workspace.join("later");
            let control = outside(&workspace, &["python3", "-c", CONNECT, path.to_str().unwrap()]);
            assert_eq!(control.stdout, "REACHED\n", "the control: {control:?}");
            // What a command of the same cage serves is another matter.
            let serve = "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); time.sleep(20)";
            std::fs::write(workspace.join("serve.py"), serve).unwrap();
            let served = serde_json::json!({"command": "/usr/bin/python3 serve.py", "background": true});
            let told = wire.call("exec", served);
            wait_until("the server listens", || workspace.join("own").exists());
            let own = wire.call("exec", serde_json::json!({"command": "/usr/bin/python3 connect.py own"}));
            assert!(text(&own).contains("REACHED"), "{backend}, network {network}: {told}: {own}");
            wire.end();
        }
    }
}

/// Connects to an abstract socket; says REACHED.
const CONNECT_ABSTRACT: &str = "import socket, sys
try: socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])
except OSError: sys.exit()
print('REACHED')";

#[test]
fn abstract_sockets_of_the_host_are_out_of_reach() {
    let mut faults = Faults::default();
    let name = format!("picoclaw-test-{}", std::process::id());
    let serve = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0' + sys.argv[1]); \
                 s.listen(); print('up', flush=True); time.sleep(50)";
    let mut server = std::process::Command::new("python3");
    server.args(["-c", serve, &name]).stdout(std::process::Stdio::piped());
    let mut server = server.spawn().unwrap();
    std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
    for (level, net) in
        [(Native, "none"), (Native, "host"), (Bwrap, "none"), (Bwrap, "host"), (Landlock, "host")]
    {
        let Some(project) = Project::new(level) else { continue };
        let control = outside(&project.dir(), &["python3", "-c", CONNECT_ABSTRACT, &name]);
        assert_eq!(control.stdout, "REACHED\n", "the control: {control:?}");
        let told = project.python(&["--net", net], CONNECT_ABSTRACT, &[&name]);
        faults.check(told.stdout.is_empty(), format!("{level:?}, network {net}: {told:?}"));
    }
    server.kill().and_then(|()| server.wait()).unwrap();
}

/// Runs `picoclaw` with mounts of its own: `setup` is a shell line that makes them.
fn with_mounts(project: &Project, setup: &str, words: &[&str]) -> Option<Ran> {
    let unshare: &[&str] = if is_root() { &["unshare", "-m"] } else { &["unshare", "-Urm"] };
    let line = format!("{setup} || exit 99; exec \"$@\"");
    let wrapper = [unshare, &["sh", "-c", &line, "sh"]].concat();
    let mut command = project.instance.wrapped(&wrapper, words);
    command.current_dir(project.dir()).env("PATH", super::SYSTEM_PATH);
    let told = ran(command.output().unwrap());
    if told.code == 99 || told.stderr.contains("unshare:") {
        picoclaw_testing::skip!("this host gives no mount namespace: {told:?}");
        return None;
    }
    Some(told)
}

#[test]
fn a_bind_mount_hides_neither_a_system_directory_nor_a_socket() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Native) else { return };
    let other = project.instance.dir().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    for place in ["/etc", "/etc/ssl", "/usr", "/usr/lib/ssl", "/var", "/root", "/"] {
        let setup = format!("mount --bind {place} {other}");
        let Some(told) = with_mounts(&project, &setup, &["run", "--workspace", other, "--", "true"]) else {
            return;
        };
        faults.check(told.code == 125 && told.stderr.contains("hint:"), format!("{place}: {told:?}"));
    }
    let _listener = UnixListener::bind(project.dir().join("socket")).unwrap();
    let setup = format!("mount --bind {} {other}", project.dir().display());
    let path = format!("{other}/socket");
    let words = ["run", "--workspace", other, "--", "python3", "-c", CONNECT, &path];
    let Some(told) = with_mounts(&project, &setup, &words) else { return };
    faults.check(told.code == 0 && told.stdout.is_empty(), format!("a socket: {told:?}"));
    let control = outside(&project.dir(), &["python3", "-c", CONNECT, "socket"]);
    assert_eq!(control.stdout, "REACHED\n", "the control: {control:?}");
}

#[test]
fn a_writable_system_directory_is_said() {
    let Some(project) = Project::new(Native) else { return };
    // The instance is hidden in it, and the project is shown all the same.
    let home = project.instance.dir().to_str().unwrap().to_owned();
    for (flags, warns) in [
        (["--rw", "/opt"], "the system directory `/opt`"),
        (["--rw", "/etc/hosts"], "the system directory `/etc`"),
        (["--rw", &home], "the home directory"),
        (["--ro", "/opt"], ""),
        (["--ro", &home], ""),
        (["--rw", project.dir().to_str().unwrap()], ""),
    ] {
        let mut command = project.command(&flags, &["true"]);
        let told = ran(command.env("PICOCLAW_LOG_LEVEL", "warn").output().unwrap());
        assert_eq!(told.code, 0, "an exposure is the operator's to decide: {flags:?}: {told:?}");
        let says = told.stderr.contains("is exposed read-write") && told.stderr.contains(warns);
        assert_eq!(says, !warns.is_empty(), "{flags:?}: {told:?}");
    }
}

#[test]
fn sockets_made_in_the_cage_work() {
    let script = "import os, socket, threading
for name in ('own.sock', os.environ['HOME'] + '/own.sock', '/tmp/own.sock'):
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(name); client.sendall(b'heard')
    print(server.accept()[0].recv(9).decode())";
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], script, &[]);
        assert_eq!((told.code, told.stdout.as_str()), (0, "heard\nheard\nheard\n"), "{level:?}: {told:?}");
    }
}

/// Sets a flag when it goes, also after a panic.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Bubblewrap follows links: with a path in place of a descriptor it showed what the link leads to, within forty starts.
#[test]
fn a_link_that_takes_the_place_of_a_mounted_directory_leads_nowhere() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let (dir, outside_dir) = (project.dir(), project.instance.dir().join("outside"));
        for name in [dir.join("sub"), outside_dir.clone()] {
            std::fs::create_dir(&name).unwrap();
            // On the list, so the directories above it are mounted over themselves.
            std::fs::write(name.join(".bashrc"), "").unwrap();
        }
        std::fs::write(outside_dir.join("secret"), "SECRET").unwrap();
        symlink(&outside_dir, dir.join("link")).unwrap();
        let exchange = || renameat_with(CWD, dir.join("sub"), CWD, dir.join("link"), RenameFlags::EXCHANGE);
        if let Err(why) = exchange() {
            picoclaw_testing::skip!("names cannot be exchanged in `{}`: {why}", dir.display());
            return;
        }
        let is_done = AtomicBool::new(false);
        let mut starts = 0;
        std::thread::scope(|scope| {
            // Also after a failure, or the scope would wait for the thread forever.
            let _guard = SetOnDrop(&is_done);
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    exchange().unwrap();
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            for _ in 0..100 {
                let told =
                    project.sh(&[], "cat sub/secret link/secret; echo >> sub/written; echo >> link/written");
                faults.check(!told.stdout.contains("SECRET"), format!("{level:?}: {told:?}"));
                // 125: the cage was not built, since a name had changed meanwhile.
                starts += usize::from(told.code != 125);
            }
        });
        eprintln!("{level:?}: {starts} of 100 commands started");
        faults.check(starts > 0, format!("{level:?}: no command was started, so this proves nothing"));
        faults.check(!outside_dir.join("written").exists(), format!("{level:?}: it was written outside"));
    }
}
