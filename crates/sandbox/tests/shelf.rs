//! The program's own files: private, whole, and never reached through a link.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests arrange files by hand and stop where they cannot go on"
)]

use picoclaw_sandbox::shelf::{Line, Shelf, ShelfError};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn shelf(home: &Path) -> Shelf {
    Shelf::open(home, "sessions").unwrap()
}

fn lines(shelf: &Shelf, name: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let Some(book) = shelf.inspect_command(name).unwrap() else { return seen };
    book.each_line(1 << 20, |line| {
        seen.push(match line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Line::TooLong => "(too long)".to_owned(),
        });
    })
    .unwrap();
    seen
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_a_shelf_writes_only_its_owner_can_read() {
    let home = tempfile::tempdir().unwrap();
    let inner = shelf(home.path()).inner("main").unwrap();
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
        let shelf = shelf(home.path());
        std::fs::write(shelf.path().join("s"), before).unwrap();
        shelf.append("s", b"new").unwrap();
        assert_eq!(lines(&shelf, "s"), want, "{why}");
    }
}

#[test]
fn lines_that_are_too_long_are_named_and_the_others_are_read() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    let long = "x".repeat((1 << 20) + 1);
    for line in ["one", &long, "three"] {
        shelf.append("s", line.as_bytes()).unwrap();
    }
    assert_eq!(lines(&shelf, "s"), ["one", "(too long)", "three"]);
}

#[test]
fn nothing_is_reached_through_a_link_and_nothing_hangs() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    let outside = home.path().join("outside");
    std::fs::write(&outside, "keep").unwrap();
    symlink(&outside, shelf.path().join("link")).unwrap();
    symlink(home.path(), shelf.path().join("dir")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        shelf.path().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    for name in ["link", "fifo"] {
        assert!(matches!(shelf.read(name, 100), Err(ShelfError::NotAFile { .. })), "read {name}");
        assert!(matches!(shelf.append(name, b"x"), Err(ShelfError::NotAFile { .. })), "append {name}");
    }
    assert!(shelf.enter("dir").is_err(), "a linked directory");
    for name in ["", ".", "..", "a/b", "../outside", "a\0b"] {
        assert!(matches!(shelf.read(name, 100), Err(ShelfError::BadName { .. })), "{name:?}");
        assert!(matches!(shelf.replace(name, b"x"), Err(ShelfError::BadName { .. })), "{name:?}");
        assert!(matches!(shelf.remove(name), Err(ShelfError::BadName { .. })), "{name:?}");
    }
    shelf.replace("link", b"new").unwrap();
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "keep", "the link was replaced, not followed");
}

#[test]
fn a_held_book_is_one_writers_alone_until_it_is_dropped() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    let held = shelf.hold("s", Duration::ZERO).unwrap();
    let began = Instant::now();
    let second = shelf.hold("s", Duration::from_millis(100));
    assert!(matches!(second, Err(ShelfError::Busy { .. })), "{second:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "the wait is bounded");
    drop(held);
    shelf.hold("s", Duration::ZERO).unwrap();
}

#[test]
fn a_book_that_was_removed_while_it_was_waited_for_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    let mut held = shelf.hold("s", Duration::ZERO).unwrap();
    held.append(b"old").unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| shelf.hold("s", Duration::from_secs(10)).unwrap().append(b"new"));
        shelf.remove("s").unwrap();
        drop(held);
        other.join().unwrap().unwrap();
    });
    assert_eq!(lines(&shelf, "s"), ["new"]);
}

#[test]
fn writers_on_many_threads_lose_no_line() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let shelf = &shelf;
            scope.spawn(move || {
                for line in 0..25 {
                    shelf.append("s", format!("{writer}-{line}").as_bytes()).unwrap();
                }
            });
        }
    });
    let mut seen = lines(&shelf, "s");
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
            eprintln!("SKIPPED: no user namespace with a tmpfs to be had, so no full disk was tried");
            return;
        }
        let ran = run(script).unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    };
    let shelf = shelf(Path::new(&disk));
    let line = "x".repeat(3000);
    let mut written = 0;
    let error = loop {
        match shelf.append("s", line.as_bytes()) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk never filled up");
    };
    assert!(matches!(error, ShelfError::Full { .. }), "{error}");
    assert!(error.hint().unwrap().contains("space"));
    assert!(written > 5);
    assert_eq!(lines(&shelf, "s"), vec![line.clone(); written], "no half line, nothing lost");
    assert!(matches!(shelf.replace("meta", &[b'x'; 9000]), Err(ShelfError::Full { .. })));
    assert_eq!(shelf.list().unwrap().len(), 1, "nothing temporary is left over");
}

#[test]
fn files_are_listed_with_size_and_age_and_nothing_else_is() {
    let home = tempfile::tempdir().unwrap();
    let shelf = shelf(home.path());
    shelf.replace("b", b"12345").unwrap();
    shelf.replace("a", b"").unwrap();
    shelf.inner("dir").unwrap();
    symlink("/etc/passwd", shelf.path().join("link")).unwrap();
    std::fs::write(shelf.path().join(".tmp-1-2"), "left over").unwrap();
    let seen: Vec<_> = shelf.list().unwrap().into_iter().map(|item| (item.name, item.size)).collect();
    assert_eq!(seen, [("a".to_owned(), 0), ("b".to_owned(), 5)]);
    assert_eq!(shelf.inner_names().unwrap(), ["dir"]);
    assert!(matches!(shelf.read("b", 4), Err(ShelfError::TooLarge { .. })), "reading is bounded");
    assert_eq!(shelf.read("b", 5).unwrap().unwrap(), b"12345");
    shelf.remove("b").unwrap();
    shelf.remove("b").unwrap();
    assert_eq!(shelf.read("b", 5).unwrap(), None);
}
