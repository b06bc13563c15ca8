//! What each backend holds against a hostile child: `docs/boundary.md` says what was seen, and this sees it.
//!
//! `PICOCLAW_BLESS=1 cargo test --workspace --test it hostile_children::backends` writes the document's table anew.

use super::deadline::{TREE, end_all};
use super::memory::TAKE;
use super::workspaces::CONNECT;
use super::{Bwrap, Landlock, Level, Native, Project, alone, gone_after, is_root, marker, outside};
use crate::test_instance::ran;
use picoclaw_testing::wait_until;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

const DOCUMENT: &str = include_str!("../../../../../docs/boundary.md");
const MARKS: [&str; 2] = ["<!-- backends: begin -->\n", "<!-- backends: end -->\n"];

/// Opens the terminal by its name, and looks for it among its streams.
const TERMINAL: &str = "import os, sys
try: print('REACHED', os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY))
except OSError: pass
for fd in range(3):
    stat = os.fstat(fd)
    if f'{stat.st_dev}:{stat.st_ino}' == sys.argv[2]: print('REACHED', fd)";

const SET_USER_ID: &str = "import os
os.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o755))
try: os.chmod('made', 0o4755)
except OSError: pass
if os.stat('made').st_mode & 0o4000: print('REACHED')";

/// Something that a child tries; whether it got there. Without a project it is tried on the host, in this directory.
type Attempt = fn(Option<&Project>, &std::path::Path) -> bool;

const ATTEMPTS: [(&str, Attempt); 11] = [
    ("terminal", terminal),
    ("private memory", |project, dir| memory(project, dir, "private")),
    ("shared memory", |project, dir| memory(project, dir, "shared")),
    ("memfds", |project, dir| memory(project, dir, "memfd")),
    ("System V memory", |project, dir| memory(project, dir, "system_v")),
    ("tmpfs files", |project, dir| memory(project, dir, "dev_shm")),
    ("socket buffers", |project, dir| memory(project, dir, "sockets")),
    ("deadline", deadline),
    ("sockets", sockets),
    ("set-user-ID", |project, dir| python(project, dir, &[], SET_USER_ID, &[]).contains("REACHED")),
    ("protected files", protected),
];

fn python(
    project: Option<&Project>,
    dir: &std::path::Path,
    flags: &[&str],
    script: &str,
    words: &[&str],
) -> String {
    match project {
        Some(project) => project.python(flags, script, words).stdout,
        None => outside(dir, &[&["python3", "-c", script], words].concat()).stdout,
    }
}

fn terminal(project: Option<&Project>, dir: &std::path::Path) -> bool {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let stat = slave.metadata().unwrap();
    let words = ["python3", "-c", TERMINAL, &path, &format!("{}:{}", stat.dev(), stat.ino())];
    let mut command = match project {
        Some(project) => project.command(&[], &words),
        None => std::process::Command::new("env"),
    };
    if project.is_none() {
        command.args(words).current_dir(dir);
    }
    ran(command.stdin(slave).output().unwrap()).stdout.contains("REACHED")
}

fn memory(project: Option<&Project>, dir: &std::path::Path, kind: &str) -> bool {
    python(project, dir, &["--memory", "100M"], TAKE, &[kind, "400", "1"]).contains("HELD")
}

/// Whether processes are left after a deadline of one second, or on the host after the end of their parent.
fn deadline(project: Option<&Project>, dir: &std::path::Path) -> bool {
    let mark = marker();
    let words = ["python3", "-c", TREE, "sessions", "20", &mark];
    let limit = match project {
        Some(project) => {
            project.run(&["--timeout", "1s"], &words);
            20
        }
        None => {
            let mut command = std::process::Command::new(words[0]);
            let mut parent = command.args(&words[1..]).current_dir(dir).spawn().unwrap();
            wait_until("the tree is up", || dir.join("up").exists());
            parent.kill().and_then(|()| parent.wait()).unwrap();
            1
        }
    };
    let is_left = gone_after(&mark, Duration::from_secs(limit)).is_none();
    end_all(&mark);
    is_left
}

fn sockets(project: Option<&Project>, dir: &std::path::Path) -> bool {
    let path = dir.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let is_reached = python(project, dir, &[], CONNECT, &["socket"]).contains("REACHED");
    std::fs::remove_file(path).unwrap();
    is_reached
}

fn protected(project: Option<&Project>, dir: &std::path::Path) -> bool {
    std::fs::write(dir.join(".envrc"), "").unwrap();
    let write = "open('.envrc', 'w').write('changed')";
    drop(python(project, dir, &[], write, &[]));
    std::fs::read(dir.join(".envrc")).unwrap() != b""
}

fn row(name: &str, project: Option<&Project>, dir: &std::path::Path) -> String {
    let cell = |(_, attempt): &(_, Attempt)| if attempt(project, dir) { "**open**" } else { "held" };
    format!("| {name} | {} |", ATTEMPTS.iter().map(cell).collect::<Vec<_>>().join(" | "))
}

/// A line of the document as it is for this user: a cgroup, which root can make, holds more.
fn for_this_user(line: &str) -> String {
    line.replace("held as root", if is_root() { "held" } else { "**open**" })
}

#[test]
fn each_backend_holds_what_the_document_says() {
    let _turn = alone();
    let levels: [(&str, Level); 3] =
        [("native", Native), ("bubblewrap", Bwrap), ("Landlock alone", Landlock)];
    let mut seen = Vec::new();
    for (name, level) in levels {
        let Some(project) = Project::new(level) else { continue };
        seen.push(row(name, Some(&project), &project.dir()));
    }
    let host = tempfile::tempdir().unwrap();
    let control = row("control: without picoclaw", None, host.path());
    assert!(!control.contains("held"), "without a cage every attempt succeeds: {control}");
    seen.push(control);
    let (before, rest) = DOCUMENT.split_once(MARKS[0]).unwrap();
    let (said, after) = rest.split_once(MARKS[1]).unwrap();
    if std::env::var_os("PICOCLAW_BLESS").is_some() {
        let head: Vec<&str> = ATTEMPTS.iter().map(|(name, _)| *name).collect();
        let rule = "|---".repeat(head.len() + 1);
        let table = format!("\n| backend | {} |\n{rule}|\n{}\n\n", head.join(" | "), seen.join("\n"));
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/boundary.md");
        std::fs::write(file, [before, MARKS[0], &table, MARKS[1], after].concat()).unwrap();
        return;
    }
    let said: Vec<String> = said.lines().map(for_this_user).collect();
    for line in &seen {
        assert!(said.contains(line), "seen: {line}\nsaid:\n{}", said.join("\n"));
    }
}
