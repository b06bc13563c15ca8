//! Hostile inputs.
//!
//! Invariant: a clear error, nothing lost, no panic and no wait.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]

use super::fixture::{ALL, Fixture, KERNELS, is_root};
use super::table::fact;
use crate::root::{Overwrite, Page, ProtectedInodes, Root};
use picoclaw_policy::{Access, FileKind, PathLocation};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn what_is_not_a_clean_relative_path_is_refused_before_anything_is_looked_up() {
    let fixture = Fixture::new();
    for (why, path) in [
        ("a NUL", "a\0b"),
        ("absolute", "/etc/passwd"),
        ("dots up", ".."),
        ("dots up inside", "a/../b"),
        ("a dot", "./a"),
        ("a slash at the end", "a/"),
        ("two slashes", "a//b"),
    ] {
        for access in [Access::Read, Access::List, Access::Write] {
            let fault = fixture.root().locate(Path::new(path), access, &fixture.protected()).unwrap_err();
            assert_eq!(fact(&fault), "invalid_path", "{why}");
        }
    }
}

#[test]
fn names_of_any_bytes_work() {
    let fixture = Fixture::new();
    for name in [&b"\xff\xfe"[..], b"a\nDIR: b", b" ", b"-rf", b"\x1b[31m", "\u{202e}txt".as_bytes()] {
        let path = Path::new(OsStr::from_bytes(name));
        let place = fixture.root().locate(path, Access::Write, &fixture.protected()).unwrap();
        place.write(name, Overwrite::Yes, &fixture.context()).unwrap();
        let place = fixture.root().locate(path, Access::Read, &fixture.protected()).unwrap();
        assert_eq!(place.read(ALL).unwrap().bytes, name);
    }
    let listing = fixture.root().locate(Path::new(""), Access::List, &fixture.protected()).unwrap();
    assert_eq!(listing.list(Page { offset: 0, limit: 100 }).unwrap().total, 6);
}

#[test]
fn a_path_of_ten_thousand_components_ends_in_a_clear_error() {
    let fixture = Fixture::new();
    let path: PathBuf = std::iter::repeat_n("x", 10_000).collect();
    for disabled in KERNELS {
        let root = Root::open_without(&fixture.workspace(), disabled).unwrap();
        for access in [Access::Read, Access::List] {
            let place = root.locate(&path, access, &fixture.protected()).unwrap();
            assert!(place.read(ALL).is_err(), "{disabled:?}");
        }
    }
}

#[test]
fn a_deep_path_that_the_kernel_takes_is_written_and_read() {
    let fixture = Fixture::in_memory();
    let path = vec!["x"; 1_500].join("/");
    fixture.write(&path, b"deep").unwrap();
    assert_eq!(fixture.read(&path).unwrap(), b"deep");
    // The walking resolver keeps a handle on every directory, and says so rather than use them all
    // up.
    let poor =
        Root::open_without(&fixture.workspace(), crate::root::DisabledKernelFeatures::Openat2).unwrap();
    let fault =
        poor.locate(Path::new(&path), Access::Read, &fixture.protected()).unwrap().read(ALL).unwrap_err();
    assert_eq!(fact(&fault), "too_deep");
}

#[test]
fn forty_links_are_followed_and_forty_one_are_not() {
    let fixture = Fixture::new();
    fixture.build("file l0 = end");
    for number in 1..=41 {
        fixture.build(&format!("link l{number} -> l{}", number - 1));
    }
    for disabled in KERNELS {
        let root = Root::open_without(&fixture.workspace(), disabled).unwrap();
        let read =
            |name: &str| root.locate(Path::new(name), Access::Read, &fixture.protected()).unwrap().read(ALL);
        assert_eq!(read("l40").unwrap().bytes, b"end", "{disabled:?}");
        assert_eq!(fact(&read("l41").unwrap_err()), "too_deep", "{disabled:?}");
    }
    // The kernel draws the line at the same place.
    assert!(
        fs::read(fixture.workspace().join("l40")).is_ok()
            && fs::read(fixture.workspace().join("l41")).is_err()
    );
}

#[test]
fn links_that_double_at_every_step_end_soon() {
    let fixture = Fixture::new();
    fixture.build("dir d0");
    for number in 1..=30 {
        fixture.build(&format!("link d{number} -> d{0}/../d{0}", number - 1));
    }
    let began = Instant::now();
    assert_eq!(fact(&fixture.read("d30").unwrap_err()), "too_deep");
    assert!(began.elapsed() < Duration::from_secs(1), "took {:?}", began.elapsed());
}

#[test]
fn a_fifo_never_blocks_a_look_or_an_effect() {
    let fixture = Fixture::new();
    fixture.build("fifo p");
    fixture.build("link l -> p");
    let (done, waiting) = mpsc::channel();
    let root = fixture.root();
    let (protected, context) = (fixture.protected(), fixture.context());
    std::thread::spawn(move || {
        for name in ["p", "l"] {
            for access in [Access::Read, Access::List, Access::Write] {
                let place = root.locate(Path::new(name), access, &protected).unwrap();
                assert_eq!(place.kind(), FileKind::Special);
                let faults = [
                    place.read(ALL).map(drop),
                    place.list(Page { offset: 0, limit: 1 }).map(drop),
                    place.write(b"x", Overwrite::Yes, &context),
                    place.append(b"x", &context),
                    place.edit("a", "b", &context),
                ];
                assert!(faults.iter().all(|outcome| fact(outcome.as_ref().unwrap_err()) == "not_a_file"));
            }
        }
        done.send(()).unwrap();
    });
    waiting.recv_timeout(Duration::from_secs(10)).expect("a FIFO blocked a look or an effect");
}

#[test]
fn devices_in_the_workspace_are_refused() {
    if !is_root() {
        picoclaw_testing::skip!("only root can make devices");
        return;
    }
    let fixture = Fixture::new();
    let zero = fixture.workspace().join("zero");
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &zero,
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::from_raw_mode(0o666),
        rustix::fs::makedev(1, 5),
    );
    if made.is_err() {
        picoclaw_testing::skip!("this machine does not let root make devices");
        return;
    }
    assert_eq!(fact(&fixture.read("zero").unwrap_err()), "not_a_file");
    assert_eq!(fact(&fixture.write("zero", b"x").unwrap_err()), "not_a_file");
}

#[test]
fn a_read_only_workspace_says_access_denied_and_loses_nothing() {
    if is_root() {
        picoclaw_testing::skip!("permission bits do not hold root; run as an ordinary user");
        return;
    }
    let fixture = Fixture::new();
    fixture.build("file d/f = old");
    fixture.build("mode 0555 d");
    for outcome in
        [fixture.write("d/f", b"new"), fixture.write("d/new", b"new"), fixture.write("d/a/b", b"new")]
    {
        assert_eq!(fact(&outcome.unwrap_err()), "access_denied");
    }
    assert_eq!((fixture.contents("d/f"), fixture.litter("d")), (b"old".to_vec(), vec![]));
    fixture.build("mode 0755 d");
}

#[test]
fn a_directory_that_may_be_written_but_not_read_still_takes_files() {
    let fixture = Fixture::new();
    fixture.build("dir d");
    fixture.build("mode 0300 d");
    fixture.write("d/f", b"x").unwrap();
    assert_eq!(fixture.read("d/f").unwrap(), b"x");
    if !is_root() {
        let place = fixture.root().locate(Path::new("d"), Access::List, &fixture.protected()).unwrap();
        assert_eq!(fact(&place.list(Page { offset: 0, limit: 1 }).unwrap_err()), "access_denied");
    }
    fixture.build("mode 0700 d");
}

#[test]
fn a_hard_link_is_refused_when_there_is_too_much_to_search() {
    let fixture = Fixture::new();
    fixture.build("file a = x");
    fixture.build("hard b = a");
    assert!(fixture.read("b").is_ok());
    // Something in the instance that cannot be looked into: whether the link leads there is not
    // known.
    let mut deep = fixture.home().join("state");
    for _ in 0..200 {
        deep.push("x");
    }
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(fact(&fixture.read("b").unwrap_err()), "protected");
    assert!(fixture.write("c", b"x").is_ok(), "files with one name are not searched for");
}

#[test]
fn another_tree_inside_the_workspace_is_seen_at_every_step() {
    let fixture = Fixture::new();
    fixture.build("file pinned/deep/f = x");
    let mut zones = fixture.zones();
    zones.protected.trees.push(super::fixture::clean(&fixture.workspace().join("pinned")));
    fixture.build("link l -> pinned/deep");
    for path in ["pinned/deep/f", "l/f", "l", "pinned/deep/new"] {
        for access in [Access::Read, Access::Write] {
            let place = fixture.root().locate(Path::new(path), access, &ProtectedInodes::of(&zones)).unwrap();
            assert_eq!(place.landing(), PathLocation::Protected, "`{path}`");
        }
    }
}

#[test]
fn a_workspace_that_is_gone_is_an_error_and_not_a_new_one() {
    let fixture = Fixture::new();
    let root = fixture.root();
    fs::remove_dir(fixture.workspace()).unwrap();
    let place = root.locate(Path::new("f"), Access::Write, &fixture.protected()).unwrap();
    assert_eq!(fact(&place.write(b"x", Overwrite::Yes, &fixture.context()).unwrap_err()), "not_found");
    assert_eq!(fact(&Root::open(&fixture.workspace()).unwrap_err()), "not_found");
    assert!(!fixture.workspace().exists());
}

#[test]
fn only_a_directory_can_be_a_root() {
    let fixture = Fixture::new();
    fixture.build("file f = x");
    assert_eq!(fact(&Root::open(&fixture.workspace().join("f")).unwrap_err()), "not_a_directory");
    assert_eq!(fact(&Root::open(Path::new("relative")).unwrap_err()), "invalid_path");
    let alias = Root::open(&fixture.alias()).unwrap();
    assert_eq!(
        (alias.name().as_path(), alias.resolved().as_path()),
        (fixture.alias().as_path(), fixture.workspace().as_path())
    );
}
