//! The program's own files: private, whole, and never reached through a link.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests arrange files by hand and stop where they cannot go on"
)]

use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

fn dir(home: &Path) -> StateDir {
    StateDir::open(home, "sessions").unwrap()
}

fn lines(dir: &StateDir, name: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let Some(line_file) = dir.open_lines(name).unwrap() else { return seen };
    line_file
        .each_line(1 << 20, |line| {
            seen.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Line::TooLong { .. } => "(too long)".to_owned(),
            });
        })
        .unwrap();
    seen
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_the_owner_can_read_what_is_written() {
    let home = tempfile::tempdir().unwrap();
    let inner = dir(home.path()).subdir("main").unwrap();
    inner.append("a.jsonl", b"one").unwrap();
    inner.replace("a.meta.json", b"{}").unwrap();
    let at = home.path().join("state/sessions/main");
    assert_eq!((mode(&at), mode(&at.join("a.jsonl")), mode(&at.join("a.meta.json"))), (0o700, 0o600, 0o600));
    std::fs::set_permissions(at.join("a.jsonl"), PermissionsExt::from_mode(0o644)).unwrap();
    inner.append("a.jsonl", b"two").unwrap();
    assert_eq!(mode(&at.join("a.jsonl")), 0o600, "a file that was copied here by hand becomes private");
}

#[test]
fn a_torn_line_is_never_glued_to_the_next() {
    for (why, before, want) in [
        ("nothing torn", "one\n", vec!["one", "new"]),
        ("half a line", "one\n{\"ro", vec!["one", "{\"ro", "new"]),
        ("a whole line without its end", "one\ntwo", vec!["one", "two", "new"]),
        ("only half a line", "{", vec!["{", "new"]),
        ("an empty file", "", vec!["new"]),
    ] {
        let home = tempfile::tempdir().unwrap();
        let dir = dir(home.path());
        std::fs::write(dir.path().join("s"), before).unwrap();
        dir.append("s", b"new").unwrap();
        assert_eq!(lines(&dir, "s"), want, "{why}");
    }
}

#[test]
fn lines_that_are_too_long_are_named_and_the_others_are_read() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    let long = "x".repeat((1 << 20) + 1);
    for line in ["one", &long, "three"] {
        dir.append("s", line.as_bytes()).unwrap();
    }
    assert_eq!(lines(&dir, "s"), ["one", "(too long)", "three"]);
}

#[test]
fn nothing_is_reached_through_a_link_and_nothing_hangs() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    let outside = home.path().join("outside");
    std::fs::write(&outside, "keep").unwrap();
    symlink(&outside, dir.path().join("link")).unwrap();
    symlink(home.path(), dir.path().join("dir")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    for name in ["link", "fifo"] {
        assert!(matches!(dir.read(name, 100), Err(StateError::NotAFile { .. })), "read {name}");
        assert!(matches!(dir.append(name, b"x"), Err(StateError::NotAFile { .. })), "append {name}");
    }
    assert!(dir.open_subdir("dir").is_err(), "a linked directory");
    for name in ["", ".", "..", "a/b", "../outside", "a\0b"] {
        assert!(matches!(dir.read(name, 100), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(dir.replace(name, b"x"), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(dir.remove(name), Err(StateError::BadName { .. })), "{name:?}");
    }
    dir.replace("link", b"new").unwrap();
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "keep", "the link was replaced, not followed");
}

#[test]
fn a_held_book_is_one_writers_alone_until_it_is_dropped() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    let held = dir.lock("s", Duration::ZERO).unwrap();
    let began = Instant::now();
    let second = dir.lock("s", Duration::from_millis(100));
    assert!(matches!(second, Err(StateError::Busy { .. })), "{second:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "the wait is bounded");
    drop(held);
    dir.lock("s", Duration::ZERO).unwrap();
}

#[test]
fn a_book_that_was_removed_while_it_was_waited_for_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    let mut held = dir.lock("s", Duration::ZERO).unwrap();
    held.append(b"old").unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| dir.lock("s", Duration::from_secs(10)).unwrap().append(b"new"));
        dir.remove("s").unwrap();
        drop(held);
        other.join().unwrap().unwrap();
    });
    assert_eq!(lines(&dir, "s"), ["new"]);
}

#[test]
fn writers_on_many_threads_lose_no_line() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                for line in 0..25 {
                    dir.append("s", format!("{writer}-{line}").as_bytes()).unwrap();
                }
            });
        }
    });
    let mut seen = lines(&dir, "s");
    seen.sort();
    let mut want: Vec<String> = (0..4).flat_map(|w| (0..25).map(move |l| format!("{w}-{l}"))).collect();
    want.sort();
    assert_eq!(seen, want);
}

/// Where the small disk of a re-executed test is.
const SMALL: &str = "PICOCLAW_TEST_SMALL_DISK";

#[test]
fn a_full_disk_is_an_error_that_leaves_what_was_there() {
    let Some(disk) = std::env::var_os(SMALL) else {
        let at = tempfile::tempdir().unwrap();
        let script = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$1\" --exact \"$2\"";
        let run = |script: &str| {
            let mut command = Command::new("unshare");
            let name = "a_full_disk_is_an_error_that_leaves_what_was_there";
            command.args(["-rm", "sh", "-c", script]).arg(at.path()).arg(std::env::current_exe().unwrap());
            command.arg(name).env(SMALL, at.path()).output()
        };
        if !run("mount -t tmpfs none /tmp").is_ok_and(|ran| ran.status.success()) {
            picoclaw_testing::skip!("no user namespace with a tmpfs to be had, so no full disk was tried");
            return;
        }
        let ran = run(script).unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    };
    let dir = dir(Path::new(&disk));
    let line = "x".repeat(3000);
    let mut written = 0;
    let error = loop {
        match dir.append("s", line.as_bytes()) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk never filled up");
    };
    assert!(matches!(error, StateError::Full { .. }), "{error}");
    assert!(error.hint().unwrap().contains("space"));
    assert!(written > 5);
    assert_eq!(lines(&dir, "s"), vec![line.clone(); written], "no half line, nothing lost");
    assert!(matches!(dir.replace("meta", &[b'x'; 9000]), Err(StateError::Full { .. })));
    assert_eq!(dir.list().unwrap().len(), 1, "nothing temporary is left over");
}

#[test]
fn files_are_listed_with_size_and_age_and_nothing_else_is() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    dir.replace("b", b"12345").unwrap();
    dir.replace("a", b"").unwrap();
    dir.subdir("dir").unwrap();
    symlink("/etc/passwd", dir.path().join("link")).unwrap();
    std::fs::write(dir.path().join(".tmp-1-2"), "left over").unwrap();
    let seen: Vec<_> = dir.list().unwrap().into_iter().map(|item| (item.name, item.size)).collect();
    assert_eq!(seen, [("a".to_owned(), 0), ("b".to_owned(), 5)]);
    assert_eq!(dir.subdir_names().unwrap(), ["dir"]);
    assert!(matches!(dir.read("b", 4), Err(StateError::TooLarge { .. })), "reading is bounded");
    assert_eq!(dir.read("b", 5).unwrap().unwrap(), b"12345");
    dir.remove("b").unwrap();
    dir.remove("b").unwrap();
    assert_eq!(dir.read("b", 5).unwrap(), None);
}

#[test]
fn a_file_that_one_writer_has_written_is_not_replaced_by_another() {
    let home = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let (text, barrier) = (format!("text {round}"), Barrier::new(8));
        let start = || {
            barrier.wait();
            let file = dir(home.path()).ensure("text", text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            file.metadata().unwrap().ino()
        };
        let inodes: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(inodes.iter().all(|inode| *inode == inodes[0]), "round {round}: {inodes:?}");
    }
}
