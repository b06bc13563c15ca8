//! What a replaced file keeps, what a new one gets, and what is swept.
//!
//! Invariant: new contents are never open to more accounts than the old ones were.

use super::fixture::{Fixture, is_root};
use crate::root::{Overwrite, WriteContext};
use picoclaw_policy::Access;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn context(fixture: &Fixture) -> WriteContext {
    fixture.context()
}

fn each_change(fixture: &Fixture, path: &str) {
    let place = || fixture.root().locate(Path::new(path), Access::Write, &fixture.protected()).unwrap();
    place().write(b"one", Overwrite::Yes, &context(fixture)).unwrap();
    place().append(b" two", &context(fixture)).unwrap();
    place().edit("two", "2", &context(fixture)).unwrap();
    assert_eq!(fixture.contents(path), b"one 2");
}

#[test]
fn a_new_file_is_private_and_its_directories_follow_the_umask() {
    let fixture = Fixture::new();
    fixture.write("a/b/f", b"x").unwrap();
    assert_eq!(fixture.mode("a/b/f"), 0o600);
    assert_eq!(fixture.mode("a/b") & !0o755, 0);
    assert_eq!(fixture.mode("a/b") & 0o700, 0o700);
}

#[test]
fn an_existing_file_keeps_its_mode_but_no_set_id_bit() {
    // W56: the original made every edited script 0600.
    for (mode, want) in [
        (0o755, 0o755),
        (0o644, 0o644),
        (0o600, 0o600),
        (0o666, 0o666),
        (0o4755, 0o755),
        (0o2770, 0o770),
        (0o400, 0o400),
    ] {
        let fixture = Fixture::new();
        fixture.build("file f = old");
        fixture.build(&format!("mode {mode:o} f"));
        if mode & 0o200 == 0 && !is_root() {
            fixture.write("f", b"new").unwrap();
        } else {
            each_change(&fixture, "f");
        }
        assert_eq!(format!("{:o}", fixture.mode("f")), format!("{want:o}"), "from {mode:o}");
    }
}

#[test]
fn an_existing_file_keeps_its_owner_where_that_may_be_done() {
    if !is_root() {
        picoclaw_testing::skip!("only root can give files away");
        return;
    }
    let fixture = Fixture::new();
    fixture.build("file f = old");
    fixture.build("mode 0640 f");
    chown(fixture.workspace().join("f"), Some(12345), Some(54321)).unwrap();
    each_change(&fixture, "f");
    let meta = fs::metadata(fixture.workspace().join("f")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), fixture.mode("f")), (12345, 54321, 0o640));
}

#[test]
fn a_directory_that_gives_its_group_does_not_take_a_files_own() {
    if !is_root() {
        picoclaw_testing::skip!("only root can choose a file's group freely");
        return;
    }
    let fixture = Fixture::new();
    fixture.build("dir d");
    chown(fixture.workspace().join("d"), None, Some(54321)).unwrap();
    fixture.build("mode 2775 d");
    fixture.build("file d/f = old");
    chown(fixture.workspace().join("d/f"), None, Some(0)).unwrap();
    each_change(&fixture, "d/f");
    assert_eq!(fs::metadata(fixture.workspace().join("d/f")).unwrap().gid(), 0);
}

#[test]
fn an_access_list_is_handed_on() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    // Version 2; owner rw, user 12345 rw, group none, mask rw, others none.
    let mut list = vec![2, 0, 0, 0];
    for (tag, perm, id) in
        [(1u16, 6u16, u32::MAX), (2, 6, 12345), (4, 0, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend(tag.to_le_bytes());
        list.extend(perm.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let fixture = Fixture::new();
    fixture.build("file f = old");
    let path = fixture.workspace().join("f");
    if setxattr(&path, "system.posix_acl_access", &list, XattrFlags::empty()).is_err() {
        picoclaw_testing::skip!("this file system has no access lists");
        return;
    }
    assert_eq!(fixture.mode("f"), 0o660, "the mask shows in the group bits");
    each_change(&fixture, "f");
    let mut kept = vec![0; 256];
    let length = getxattr(&path, "system.posix_acl_access", &mut kept[..]).unwrap();
    assert_eq!(kept[..length], list[..]);
}

#[test]
fn only_our_own_old_private_temporary_files_are_swept() {
    let fixture = Fixture::new();
    let old = SystemTime::now() - Duration::from_secs(2 * 3600);
    let plant = |name: &str, mode: &str, age: SystemTime| {
        fixture.build(&format!("file {name} = x"));
        fixture.build(&format!("mode {mode} {name}"));
        let file = File::options().read(true).open(fixture.workspace().join(name)).unwrap();
        file.set_times(FileTimes::new().set_modified(age)).unwrap();
    };
    let young = SystemTime::now() - Duration::from_secs(3000);
    let rows = [
        ("ours and old", ".tmp-123-1700000000000000000", "600", old, false),
        ("ours and old, short numbers", ".tmp-1-1", "600", old, false),
        ("not an hour old yet", ".tmp-123-1700000000000000001", "600", young, true),
        (
            "from the future",
            ".tmp-123-1700000000000000003",
            "600",
            SystemTime::now() + Duration::from_secs(7200),
            true,
        ),
        ("another mode", ".tmp-123-1700000000000000002", "644", old, true),
        ("another name", ".tmp-notes", "600", old, true),
        ("a letter in it", ".tmp-12a-17", "600", old, true),
        ("one part too many", ".tmp-12-17-x", "600", old, true),
        ("no second number", ".tmp-12-", "600", old, true),
        ("no dot", "tmp-123-1700000000000000000", "600", old, true),
    ];
    for (_, name, mode, age, _) in &rows {
        plant(name, mode, *age);
    }
    fixture.build("link .tmp-9-9 -> $OUT/secret");
    fixture.build("dir .tmp-8-8");
    fixture.build("file keep = x");
    plant(".tmp-7-7", "600", old);
    fs::hard_link(fixture.workspace().join(".tmp-7-7"), fixture.workspace().join("other-name")).unwrap();
    fixture.write("f", b"x").unwrap();
    for (why, name, _, _, stays) in rows {
        assert_eq!(fixture.workspace().join(name).exists(), stays, "{why}: `{name}`");
    }
    for name in [".tmp-9-9", ".tmp-8-8", ".tmp-7-7", "keep"] {
        assert!(fixture.workspace().join(name).symlink_metadata().is_ok(), "`{name}`");
    }
}

#[test]
fn a_temporary_file_of_another_user_stays() {
    if !is_root() {
        picoclaw_testing::skip!("only root can give files away");
        return;
    }
    let fixture = Fixture::new();
    fixture.build("file .tmp-1-1 = x");
    fixture.build("mode 0600 .tmp-1-1");
    let path = fixture.workspace().join(".tmp-1-1");
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH))
        .unwrap();
    chown(&path, Some(12345), None).unwrap();
    fixture.write("f", b"x").unwrap();
    assert!(path.exists());
}

#[test]
fn a_large_directory_is_scanned_once_an_hour_by_all_processes_together() {
    let fixture = Fixture::new();
    fixture.build("dir d");
    let dir = fixture.workspace().join("d");
    for number in 0..6000 {
        File::create(dir.join(format!("{number:0100}"))).unwrap();
    }
    let size = fs::metadata(&dir).unwrap().len();
    if size <= 256 << 10 {
        picoclaw_testing::skip!("this file system says that 6,000 names take {size} bytes");
        return;
    }
    let plant = |name: &str| {
        let file = File::create(dir.join(name)).unwrap();
        fixture.build(&format!("mode 0600 d/{name}"));
        file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).unwrap();
    };
    plant(".tmp-1-1");
    fixture.write("d/f", b"x").unwrap();
    assert_eq!(fixture.litter("d"), [""; 0], "the first of all looks");
    plant(".tmp-1-2");
    fixture.write("d/f", b"x").unwrap();
    assert_eq!(fixture.litter("d"), [".tmp-1-2"], "the next process does not, within the hour");
    for entry in fs::read_dir(fixture.home().join("state/locks")).unwrap() {
        let file = File::options().write(true).open(entry.unwrap().path()).unwrap();
        file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).unwrap();
    }
    fixture.write("d/f", b"x").unwrap();
    assert_eq!(fixture.litter("d"), [""; 0], "an hour later it does");
}
