//! C8: what is given as descriptor 0, 1 or 2 is no way to the host's tree, devices and sockets.
//!
//! Regular files, pipes and the character devices that a cage has itself (`null zero full random urandom`) pass as
//! they are, sockets are relayed (Node connects its children by socket pairs), everything else is refused with 125.

use super::{Bwrap, Faults, Landlock, Native, Project, is_here};
use crate::test_instance::{Ran, ran};
use rustix::fs::{Mode, OFlags, open};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tries to get from a directory descriptor to what lies in it; tells each thing that it reached in a file.
const THROUGH: &str = "import os, socket
fd, notes = 9, open('reached', 'a', buffering=1)
def reach(name, way):
    try: way()
    except OSError: return
    print(name, file=notes)
def connect():
    with socket.socket(socket.AF_UNIX) as one: one.connect(f'/proc/self/fd/{fd}/socket')
def listing(): os.listdir(fd)
reach('stat', lambda: os.stat('victim', dir_fd=fd))
reach('read', lambda: os.read(os.open('victim', os.O_RDONLY, dir_fd=fd), 1))
reach('write', lambda: os.open('victim', os.O_WRONLY, dir_fd=fd))
reach('create', lambda: os.open('planted', os.O_WRONLY | os.O_CREAT, dir_fd=fd))
reach('chmod', lambda: os.chmod('victim', 0o604, dir_fd=fd))
reach('utime', lambda: os.utime('victim', (1, 1), dir_fd=fd))
reach('above', lambda: os.stat('../beside', dir_fd=fd))
reach('enter', lambda: os.fchdir(fd))
reach('list', listing)
reach('connect', connect)";

/// Tells what its descriptor is.
const KIND: &str = "import os, stat, sys
mode = os.fstat(int(sys.argv[1])).st_mode
kinds = {'socket': stat.S_ISSOCK, 'block': stat.S_ISBLK, 'character': stat.S_ISCHR, 'directory': stat.S_ISDIR}
open('kind', 'w').write(next((name for name, test in kinds.items() if test(mode)), 'other'))";

/// Python does not start on a directory.
fn through(fd: u8) -> [String; 3] {
    ["sh".into(), "-c".into(), format!("exec 9<&{fd} {fd}</dev/null; exec python3 -c \"{THROUGH}\"")]
}

/// Starts `command` with `end` as one of its three streams; the others are nothing.
fn given(command: &mut Command, fd: u8, end: OwnedFd) -> Ran {
    let mut ends = [Stdio::null(), Stdio::null(), Stdio::piped()];
    ends[usize::from(fd)] = Stdio::from(end);
    let [stdin, stdout, stderr] = ends;
    ran(command.stdin(stdin).stdout(stdout).stderr(stderr).output().unwrap())
}

/// A directory with a socket that a host process listens on.
fn with_config_file(project: &Project) -> UnixListener {
    let victim = project.file("outside/victim", "victim");
    std::fs::set_permissions(victim, PermissionsExt::from_mode(0o600)).unwrap();
    UnixListener::bind(project.instance.dir().join("outside/socket")).unwrap()
}

fn opened(path: &Path, flags: OFlags) -> OwnedFd {
    open(path, flags | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

#[test]
fn a_directory_as_a_stream_is_no_door() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let _listener = with_config_file(&project);
        project.file("beside", "");
        let outside = project.instance.dir().join("outside");
        let reached = || {
            let text = std::fs::read_to_string(project.dir().join("reached")).unwrap_or_default();
            std::fs::write(project.dir().join("reached"), "").unwrap();
            text.replace('\n', " ")
        };
        let [shell, words @ ..] = through(0);
        let mut control = Command::new(shell);
        given(control.args(words).current_dir(project.dir()), 0, opened(&outside, OFlags::RDONLY));
        let all = reached();
        assert_eq!(all.split(' ').count(), 11, "the control: {all}");
        for (how, flags) in [("a directory", OFlags::RDONLY), ("a directory by O_PATH", OFlags::PATH)] {
            for fd in 0..3_u8 {
                let mut command = project.command(&[], &through(fd).each_ref().map(String::as_str));
                let told = given(&mut command, fd, opened(&outside, flags));
                let got = reached();
                faults.check(got.is_empty(), format!("{level:?}: {how} as {fd}: {got}"));
                faults.check(told.code == 125, format!("{level:?}: {how} as {fd} is not refused: {told:?}"));
                let hint = fd == 2 || told.stderr.contains("descriptor") || told.stderr.contains("directory");
                faults.check(hint, format!("{level:?}: {how} as {fd}: no reason is given: {told:?}"));
            }
        }
    }
}

#[test]
fn a_device_as_a_stream_is_refused_unless_the_cage_has_it() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        for (path, passes) in [
            ("/dev/null", true),
            ("/dev/zero", true),
            ("/dev/full", true),
            ("/dev/urandom", true),
            ("/dev/kmsg", false),
            ("/dev/mem", false),
            ("/dev/fuse", false),
            ("/dev/net/tun", false),
            ("/dev/ptmx", false),
            ("/dev/vda", false),
            ("/dev/sda", false),
            ("/dev/nvme0n1", false),
            ("/dev/loop0", false),
        ] {
            let Ok(device) = open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())
            else {
                continue;
            };
            let told = given(&mut project.command(&[], &["true"]), 0, device);
            let code = if passes { 0 } else { 125 };
            faults.check(told.code == code, format!("{level:?}: {path}: not {code}: {told:?}"));
        }
    }
}

/// Tries to do more with a descriptor than it was opened for; tells each thing that was done.
const BEYOND: &str = "import fcntl, os, sys
def attempt(name, way):
    try: way()
    except OSError: return
    open('done', 'a').write(name + ' ')
def overwrite():
    fcntl.fcntl(1, fcntl.F_SETFL, 0)
    os.lseek(1, 0, 0)
    os.write(1, b'changed')
attempt('write', lambda: os.write(os.open('/proc/self/fd/0', os.O_WRONLY), b'changed'))
attempt('truncate', lambda: os.ftruncate(os.open('/proc/self/fd/0', os.O_RDWR), 0))
attempt('append', overwrite)
attempt('shorten', lambda: os.ftruncate(1, 0))";

#[test]
fn a_file_as_a_stream_is_used_as_it_was_opened() {
    let mut faults = Faults::default();
    let files = |dir: &Path| {
        std::fs::write(dir.join("given"), "given\n").unwrap();
        std::fs::write(dir.join("log"), "first\n").unwrap();
        let log = OFlags::WRONLY | OFlags::APPEND;
        (opened(&dir.join("given"), OFlags::RDONLY), opened(&dir.join("log"), log))
    };
    let read = |dir: &Path, name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let dir = project.instance.dir().to_owned();
        let (given, log) = files(&dir);
        let mut control = Command::new("python3");
        control.args(["-c", BEYOND]).current_dir(project.dir()).stdin(given).stdout(log);
        assert!(control.status().unwrap().success());
        let done = read(&project.dir(), "done");
        assert_eq!(done.split_whitespace().count(), 4, "the control: {done}");
        assert_eq!((read(&dir, "given").as_str(), read(&dir, "log").as_str()), ("", ""), "the control");
        let (given, log) = files(&dir);
        let told =
            ran(project.command(&[], &["python3", "-c", BEYOND]).stdin(given).stdout(log).output().unwrap());
        assert_eq!(told.code, 0, "{level:?}: {told:?}");
        faults
            .check(read(&dir, "given") == "given\n", format!("{level:?}: input: {:?}", read(&dir, "given")));
        let log = read(&dir, "log");
        faults.check(log == "first\nchanged" || log == "first\n", format!("{level:?}: log: {log:?}"));
    }
}

#[test]
fn files_pass_complete_and_in_order() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let (dir, text) = (project.instance.dir().to_owned(), "0123456789abcde\n".repeat(1 << 16));
        std::fs::write(dir.join("given"), &text).unwrap();
        for flags in [OFlags::WRONLY | OFlags::TRUNC, OFlags::WRONLY | OFlags::APPEND] {
            std::fs::write(dir.join("taken"), "").unwrap();
            let out = opened(&dir.join("taken"), flags);
            let mut command =
                project.command(&[], &["sh", "-c", "echo one; echo two >&2; echo three; cat; echo four >&2"]);
            command.stdin(opened(&dir.join("given"), OFlags::RDONLY));
            let status = command.stdout(out.try_clone().unwrap()).stderr(out).status().unwrap();
            assert_eq!(status.code(), Some(0), "{level:?}");
            let taken = std::fs::read_to_string(dir.join("taken")).unwrap();
            assert!(
                taken == format!("one\ntwo\nthree\n{text}four\n"),
                "{level:?} {flags:?}: {} bytes",
                taken.len()
            );
        }
    }
}

/// The mode of a device of the host, through a descriptor of it: for root that would be everybody's `/dev/null`.
#[test]
fn the_mode_of_a_device_cannot_be_changed_through_a_stream() {
    let Some(project) = Project::new(Native) else { return };
    let attack = "import os
for fd in range(3):
    try: os.fchmod(fd, 0o666)
    except OSError: continue
    open('changed', 'a').write(f'{fd} ')";
    let mut command = project.command(&[], &["python3", "-c", attack]);
    command.stdin(Stdio::null()).stdout(opened(Path::new("/dev/zero"), OFlags::RDWR));
    assert_eq!(command.stderr(Stdio::null()).status().unwrap().code(), Some(0));
    let changed = std::fs::read_to_string(project.dir().join("changed")).unwrap_or_default();
    assert_eq!(changed, "", "descriptors whose device was changed");
    // A control without a cage could change the devices of this host for good; the mode is the one that they have.
    if super::is_root() {
        let control = Command::new("python3")
            .args(["-c", attack])
            .current_dir(project.dir())
            .stdin(Stdio::null())
            .status();
        assert!(control.unwrap().success());
        assert!(project.dir().join("changed").exists(), "the control");
    }
}

#[test]
fn a_socket_as_a_stream_is_relayed() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        for fd in 0..3_u8 {
            let (_ours, theirs) = UnixStream::pair().unwrap();
            let mut command = project.command(&[], &["python3", "-c", KIND, &fd.to_string()]);
            let told = given(&mut command, fd, theirs.into());
            let kind = std::fs::read_to_string(project.dir().join("kind")).unwrap_or_default();
            let safe = told.code == 125 || (told.code == 0 && kind == "other");
            faults.check(safe, format!("{level:?}: a UNIX socket as {fd} is a {kind}: {told:?}"));
        }
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let told = given(&mut project.command(&[], &["python3", "-c", KIND, "0"]), 0, stream.into());
        let kind = std::fs::read_to_string(project.dir().join("kind")).unwrap_or_default();
        let safe = told.code == 125 || (told.code == 0 && kind == "other");
        faults.check(safe, format!("{level:?}: a TCP socket as 0 is a {kind}: {told:?}"));
    }
}

#[test]
fn bytes_pass_through_a_socket() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = project.command(&[], &["cat"]);
        command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        ours.write_all(b"words").unwrap();
        let mut got = [0; 5];
        ours.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"words", "{level:?}");
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{level:?}: the end of input passes as well");
    }
}

#[test]
fn a_command_that_node_starts_works() {
    if !is_here("node") {
        return;
    }
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let command = project.command(&[], &["tr", "a-z", "A-Z"]);
        let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
        let script = "const { spawnSync } = require('child_process');
            const [program, ...words] = process.argv.slice(1);
            const done = spawnSync(program, words, { input: 'words' });
            process.stdout.write(done.stdout); process.exit(done.status);";
        let mut node = Command::new("node");
        node.args(["-e", script, "--"]).args(&words).current_dir(project.dir());
        node.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let told = ran(node.output().unwrap());
        assert_eq!((told.code, told.stdout.as_str()), (0, "WORDS"), "{level:?}: {told:?}");
    }
}
