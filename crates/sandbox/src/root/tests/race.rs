//! A renamer and a symlink flipper at work while files are read and written.
//!
//! `PICOCLAW_SOAK=1` races 100,000 times; otherwise a few thousand.
//!
//! Invariant: no escape and no torn file, ever; a refusal or a "try again" is fine.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]

use super::fixture::{ALL, Fixture, rounds};
use crate::root::{DisabledKernelFeatures, Overwrite, Root};
use picoclaw_policy::{Access, PathLocation};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// `d` is a directory or a link to the outside, in turns; `deep/b` is this directory or that; all
/// as fast as the kernel can.
fn arena() -> Fixture {
    let fixture = Fixture::in_memory();
    for line in [
        "file d/f = inside",
        "link away -> $OUT",
        "file d/secret = inside",
        "dir deep/b/c",
        "link deep/b/c/up -> ../../../d/f",
        "link hop -> deep/b/c/up",
        "dir other/b/c",
        "link other/b/c/up -> $OUT/f",
        "file top = inside",
        "link turn -> top",
        "link decoy -> $OUT/secret",
    ] {
        fixture.build(line);
    }
    fs::write(fixture.outside().join("f"), "SECRET").unwrap();
    fixture
}

/// Runs `work` while the flippers are at it.
fn while_flipping<T>(fixture: &Fixture, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let at = |name: &str| fixture.workspace().join(name);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, at("d"), CWD, at("away"), RenameFlags::EXCHANGE).unwrap();
                renameat_with(CWD, at("turn"), CWD, at("decoy"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, at("deep/b"), CWD, at("other/b"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        match done {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[test]
fn the_attack_works_on_a_check_that_looks_twice() {
    let fixture = arena();
    let workspace = fixture.workspace();
    let path = workspace.join("d/f");
    let until = Instant::now() + Duration::from_secs(60);
    let leaked = while_flipping(&fixture, || {
        while Instant::now() < until {
            let inside = path.canonicalize().is_ok_and(|real| real.starts_with(&workspace));
            if inside && fs::read(&path).is_ok_and(|bytes| bytes == b"SECRET") {
                return true;
            }
        }
        false
    });
    assert!(leaked, "without the protection the attack must succeed, or the tests below prove nothing");
}

#[test]
fn no_read_escapes_while_links_and_directories_flip() {
    let fixture = arena();
    let protected = fixture.protected();
    let (read, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    while_flipping(&fixture, || {
        for disabled in [
            DisabledKernelFeatures::None,
            DisabledKernelFeatures::Openat2,
            DisabledKernelFeatures::Openat2AndProc,
            DisabledKernelFeatures::PathDescriptors,
        ] {
            let root = Root::open_without(&fixture.workspace(), disabled).unwrap();
            for round in 0..rounds(2_000, 34_000) {
                let path = ["d/f", "turn", "hop", "deep/b/c/up", "d/secret"][round % 5];
                let place = root.locate(Path::new(path), Access::Read, &protected).unwrap();
                assert!(!matches!(place.landing(), PathLocation::Host { .. } | PathLocation::Protected));
                match place.read(ALL) {
                    Ok(excerpt) => {
                        assert_eq!(excerpt.bytes, b"inside", "an escape through `{path}` ({disabled:?})");
                        read.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(_) => {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    let (read, refused) = (read.into_inner(), refused.into_inner());
    eprintln!("{read} reads, {refused} refusals");
    assert!(read > 0 && refused > 0, "the race was not a race: {read} reads, {refused} refusals");
}

#[test]
fn no_write_escapes_and_none_is_torn_while_links_and_directories_flip() {
    let fixture = arena();
    let (protected, context) = (fixture.protected(), fixture.context());
    let whole = |bytes: &[u8]| bytes.len() == 4096 && bytes.iter().all(|byte| *byte == bytes[0]);
    let (written, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    while_flipping(&fixture, || {
        std::thread::scope(|scope| {
            for (number, disabled) in [
                DisabledKernelFeatures::None,
                DisabledKernelFeatures::Openat2,
                DisabledKernelFeatures::PathDescriptors,
            ]
            .into_iter()
            .enumerate()
            {
                let (fixture, protected, context, written, refused) =
                    (&fixture, &protected, &context, &written, &refused);
                scope.spawn(move || {
                    let root = Root::open_without(&fixture.workspace(), disabled).unwrap();
                    for round in 0..rounds(1_000, 50_000) {
                        let path = ["d/w", "w", "deep/b/w", "turn"][(round + number) % 4];
                        let content = [b'a' + u8::try_from(round % 26).unwrap(); 4096];
                        let place = root.locate(Path::new(path), Access::Write, protected).unwrap();
                        let done = place.write(&content, Overwrite::Yes, context);
                        let count = if done.is_ok() { written } else { refused };
                        count.fetch_add(1, Ordering::Relaxed);
                        let place = root.locate(Path::new(path), Access::Read, protected).unwrap();
                        if let Ok(excerpt) = place.read(ALL) {
                            let bytes = excerpt.bytes;
                            assert!(
                                whole(&bytes) || bytes == b"inside",
                                "`{path}` is torn: {} bytes",
                                bytes.len()
                            );
                        }
                    }
                });
            }
        });
    });
    let names: Vec<_> =
        fs::read_dir(fixture.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "something was put outside: {names:?}");
    for name in ["f", "secret"] {
        assert_eq!(
            fs::read(fixture.outside().join(name)).unwrap(),
            b"SECRET",
            "`{name}` outside was written"
        );
    }
    let (written, refused) = (written.into_inner(), refused.into_inner());
    eprintln!("{written} writes, {refused} refusals");
    assert!(written > 0 && refused > 0, "the race was not a race: {written} writes, {refused} refusals");
    let left = ["", "d", "deep/b", "other/b", "away"]
        .map(|dir| if fixture.workspace().join(dir).is_dir() { fixture.litter(dir) } else { Vec::new() });
    assert!(left.iter().all(Vec::is_empty), "left over: {left:?}");
}
