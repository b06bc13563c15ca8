//! Disks that are full or read-only, and things that are not files.
//!
//! Invariant: what cannot be recorded is an error that says "ledger"; nothing blocks and nothing is followed.

use crate::support::{allowed, assert_intact, filled, lines, segment};
use picoclaw_sandbox::ledger::{Ledger, LedgerError, Reader};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Set by a test for the process that it starts inside a small tmpfs.
const SMALL: &str = "LEDGER_TEST_SMALL_DISK";

/// What a small disk is filled with before the test.
const FILL: &str = "head -c 8192 /dev/zero > \"$0/fill\";";

fn append(dir: &Path) -> Result<(), LedgerError> {
    Ledger::open(dir)?.append(&[allowed("read /w/a")])
}

fn says_ledger(why: &str, result: Result<(), LedgerError>) {
    let error = result.expect_err(why);
    assert!(error.to_string().contains("ledger"), "{why}: {error}");
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn nothing_is_written_or_read_through_what_is_not_a_file() {
    type Plant = fn(&Path, &Path);
    let plants: [(&str, Plant); 10] = [
        ("a link for HEAD", |dir, other| symlink(other, dir.join("HEAD")).unwrap()),
        ("a link for HEAD to an empty file", |dir, other| {
            symlink(other.with_extension("e"), dir.join("HEAD")).unwrap()
        }),
        ("a dangling link for HEAD", |dir, other| {
            symlink(other.with_extension("n"), dir.join("HEAD")).unwrap()
        }),
        ("a FIFO for HEAD", |dir, _| fifo(&dir.join("HEAD"))),
        ("a directory for HEAD", |dir, _| fs::create_dir(dir.join("HEAD")).unwrap()),
        ("a link for the first segment", |dir, other| symlink(other, segment(dir, 1)).unwrap()),
        ("a link for the first segment to an empty file", |dir, other| {
            symlink(other.with_extension("e"), segment(dir, 1)).unwrap();
        }),
        ("a FIFO for the first segment", |dir, _| fifo(&segment(dir, 1))),
        ("a link for the directory", |dir, other| {
            fs::remove_dir(dir).unwrap();
            fs::create_dir(other.with_extension("d")).unwrap();
            symlink(other.with_extension("d"), dir).unwrap();
        }),
        ("a FIFO for the directory", |dir, _| {
            fs::remove_dir(dir).unwrap();
            fifo(dir);
        }),
    ];
    for (why, plant) in plants {
        let home = tempfile::tempdir().unwrap();
        let (dir, other) = (home.path().join("ledger"), home.path().join("other"));
        fs::create_dir(&dir).unwrap();
        fs::write(&other, "precious").unwrap();
        fs::write(other.with_extension("e"), "").unwrap();
        plant(&dir, &other);
        says_ledger(why, append(&dir));
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious", "{why}");
        assert_eq!(fs::read_to_string(other.with_extension("e")).unwrap(), "", "{why}");
        assert!(!other.with_extension("n").exists(), "{why}");
        assert!(
            fs::read_dir(other.with_extension("d")).map_or(true, |mut found| found.next().is_none()),
            "{why}"
        );
        // Readers must not hang on it either; they answer something.
        if let Ok(Some(reader)) = Reader::open(&dir) {
            let _ = reader.head();
            let _ = reader.all().and_then(|mut all| all.next());
        }
    }
}

#[test]
fn a_thing_in_the_place_of_the_next_segment_stops_the_writer() {
    for (why, plant) in
        [("a FIFO", fifo as fn(&Path)), ("somebody's file", |path| fs::write(path, "x").unwrap())]
    {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap().rotating_at(1);
        ledger.append(&[allowed("one")]).unwrap();
        plant(&segment(home.path(), 2));
        says_ledger(why, ledger.append(&[allowed("two")]));
        assert_eq!(fs::read_to_string(segment(home.path(), 1)).unwrap().lines().count(), 1, "{why}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    if rustix::process::geteuid().is_root() {
        picoclaw_testing::skip!("root writes through any mode; run the tests as an ordinary user as well");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let dir = home.path().join("ledger");
    set(home.path(), 0o500);
    says_ledger("the home is read-only", append(&dir));
    set(home.path(), 0o700);
    fs::create_dir(&dir).unwrap();
    set(&dir, 0o500);
    says_ledger("the directory is read-only", append(&dir));
    set(&dir, 0o700);
    filled(&dir, 2, 1 << 20);
    set(&dir.join("HEAD"), 0o400);
    says_ledger("HEAD is read-only", append(&dir));
    set(&dir.join("HEAD"), 0o600);
    set(&segment(&dir, 1), 0o400);
    says_ledger("the segment is read-only", append(&dir));
    set(&segment(&dir, 1), 0o600);
    assert_intact(&dir, 2);
}

#[test]
fn a_lock_that_is_never_let_go_is_an_error_and_not_a_hang() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path(), 1, 1 << 20);
    let head = fs::File::open(home.path().join("HEAD")).unwrap();
    head.lock().unwrap();
    says_ledger("locked", append(home.path()));
    drop(head);
    append(home.path()).unwrap();
    assert_intact(home.path(), 2);
}

/// Runs the test `name` again inside a mount namespace with a tmpfs of its own on `at`; `false` if that cannot be had.
fn inside_small_disk(name: &str, size: &str, option: &str, at: &Path) -> bool {
    let script = format!("mount -t tmpfs -o size={size} none \"$0\" && {option} exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).arg(at).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(SMALL, at);
    let able = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/tmp"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        return false;
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_lines() {
    let Some(disk) = std::env::var_os(SMALL) else {
        let at = tempfile::tempdir().unwrap();
        if !inside_small_disk(
            "faults::a_full_disk_is_an_error_and_leaves_whole_lines",
            "64k",
            FILL,
            at.path(),
        ) {
            picoclaw_testing::skip!("no user namespace with a tmpfs to be had, so no full disk was tried");
        }
        return;
    };
    let dir = Path::new(&disk).join("ledger");
    let ledger = Ledger::open(&dir).unwrap();
    let long = allowed(&"x".repeat(1500));
    let mut written = 0;
    let error = loop {
        match ledger.append(std::slice::from_ref(&long)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk never filled up");
    };
    assert!(error.to_string().contains("ledger"), "{error}");
    assert!(error.hint().contains("space"), "{}", error.hint());
    assert!(written > 5);
    assert_intact(&dir, written);
    says_ledger(
        "still full",
        append(&dir).and_then(|()| {
            loop {
                append(&dir)?
            }
        }),
    );
    drop(ledger);
    let text = fs::read_to_string(segment(&dir, 1)).unwrap();
    assert!(text.ends_with("\"}\n"), "half a line was left");
    // With room again, the same chain goes on.
    let kept = lines(&dir).len() as u64;
    fs::remove_file(Path::new(&disk).join("fill")).unwrap();
    append(&dir).unwrap();
    assert_intact(&dir, kept + 1);
}

#[test]
fn a_disk_full_from_the_first_byte_leaves_a_ledger_that_can_begin_later() {
    let Some(disk) = std::env::var_os(SMALL) else {
        let at = tempfile::tempdir().unwrap();
        let name = "faults::a_disk_full_from_the_first_byte_leaves_a_ledger_that_can_begin_later";
        if !inside_small_disk(name, "8k", FILL, at.path()) {
            picoclaw_testing::skip!("no user namespace with a tmpfs to be had, so no full disk was tried");
        }
        return;
    };
    let dir = Path::new(&disk).join("ledger");
    says_ledger("full", append(&dir));
    fs::remove_file(Path::new(&disk).join("fill")).unwrap();
    append(&dir).unwrap();
    assert_intact(&dir, 1);
}

#[test]
fn a_read_only_file_system_is_an_error_and_can_still_be_read() {
    let Some(disk) = std::env::var_os(SMALL) else {
        let at = tempfile::tempdir().unwrap();
        let name = "faults::a_read_only_file_system_is_an_error_and_can_still_be_read";
        if !inside_small_disk(name, "1m", "", at.path()) {
            picoclaw_testing::skip!(
                "no user namespace with a tmpfs to be had, so no read-only disk was tried"
            );
        }
        return;
    };
    let dir = Path::new(&disk).join("ledger");
    filled(&dir, 3, 1 << 20);
    assert!(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(&disk).status().unwrap().success());
    says_ledger("read-only", append(&dir));
    assert_intact(&dir, 3);
}
