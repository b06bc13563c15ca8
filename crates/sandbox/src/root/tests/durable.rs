//! What things cost: a hook to count system calls with, and a look against a plain open.
//!
//! `PICOCLAW_COST=bare|new|replace|script` makes the copy of the test binary do a hundred durable 4 KiB writes of that kind
//! and nothing else in between, so that `strace -fc` on two of them shows the difference; see the test below, which does
//! that itself where `strace` is installed.
//!
//! Invariant: a durable write adds at most nine system calls to the bare sequence, and two more where an access list
//! and a mode could be lost.
#![expect(clippy::disallowed_methods, reason = "the bare sequence uses the standard library")]
#![expect(clippy::disallowed_types, reason = "the children are this test binary, not an agent's")]

use super::fixture::Fixture;
use crate::root::{Overwrite, ProtectedInodes, Root, WriteContext};
use picoclaw_policy::Access;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Writes that the hook makes.
const WRITES: usize = 100;

/// Opens that are timed at once.
const BATCH: u32 = 200;

/// What is written.
const CONTENT: [u8; 4096] = [7; 4096];

/// Open, write, sync, close, rename, sync of the directory: what durability costs at least.
fn bare(dir: &Path, dir_handle: &File, number: usize) {
    let temp = dir.join("temp");
    let mut file = File::create_new(&temp).unwrap();
    file.write_all(&CONTENT).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::rename(&temp, dir.join(format!("f{number}"))).unwrap();
    dir_handle.sync_all().unwrap();
}

#[test]
fn the_hook() {
    let (Ok(what), Some(top)) = (std::env::var("PICOCLAW_COST"), std::env::var_os("PICOCLAW_COST_WHERE"))
    else {
        eprintln!("nothing to do: another test starts this under strace");
        return;
    };
    let dir = Path::new(&top).join("home/workspace/d");
    let handle = File::open(&dir).unwrap();
    let root = Root::open(&Path::new(&top).join("home/workspace")).unwrap();
    let context =
        WriteContext::new(&Path::new(&top).join("home/state/locks"), Duration::from_secs(10)).unwrap();
    let protected = ProtectedInodes::default();
    let ours = |number: usize| {
        let path = format!("d/f{number}");
        let place = root.locate(Path::new(&path), Access::Write, &protected).unwrap();
        place.write(&CONTENT, Overwrite::Yes, &context).unwrap();
    };
    // The first write to a directory also sweeps it.
    ours(WRITES);
    for number in 0..WRITES {
        match what.as_str() {
            "none" => {}
            "bare" => bare(&dir, &handle, number),
            _ => ours(number),
        }
    }
}

/// System calls of one run of the hook.
fn count(what: &str, top: &Path) -> Option<usize> {
    let log = top.join("strace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--test-threads=1", "root::tests::cost::the_hook"])
        .env("PICOCLAW_COST", what)
        .env("PICOCLAW_COST_WHERE", top)
        .output()
        .ok()?;
    output.status.success().then(|| {
        let log = fs::read_to_string(&log).unwrap();
        // A build with debug assertions asks about every descriptor before it closes it.
        let counts =
            |line: &&str| line.contains('(') && !line.contains("resumed>") && !line.contains("F_GETFD");
        log.lines().filter(counts).count()
    })
}

#[test]
fn a_durable_write_adds_at_most_nine_system_calls() {
    let fixture = Fixture::in_memory();
    fixture.build("dir d");
    let top = fixture.home().parent().unwrap().to_owned();
    let Some(nothing) = count("none", &top) else {
        picoclaw_testing::skip!("`strace` is not installed, or may not trace here");
        return;
    };
    let each = |what: &str| (count(what, &top).unwrap() - nothing) as f64 / WRITES as f64;
    let bare = each("bare");
    assert!((5.5..6.5).contains(&bare), "the bare sequence took {bare} calls");
    for number in 0..WRITES {
        fs::remove_file(fixture.workspace().join(format!("d/f{number}"))).unwrap();
    }
    let mut told = vec![("a new file", each("new"))];
    told.push(("a file that is replaced", each("replace")));
    for number in 0..WRITES {
        fixture.build(&format!("mode 0755 d/f{number}"));
    }
    told.push(("a file of another mode that is replaced", each("script")));
    for (what, calls) in &told {
        eprintln!("{what}: {calls:.2} system calls, the bare sequence {bare:.2}");
    }
    // A file that is replaced is asked for its user attributes.
    assert!(told[0].1 - bare < 8.5 && told[1].1 - bare < 9.5, "{told:?} over {bare}");
    // Two more, for the access list and the mode, which only a file that others may use has.
    assert!(told[2].1 - bare < 11.5, "{told:?} over {bare}");
}

#[test]
fn a_look_costs_little_more_than_a_plain_open() {
    let fixture = Fixture::in_memory();
    fixture.build("file a/b/f = hello");
    let (root, protected) = (fixture.root(), fixture.protected());
    let path = fixture.workspace().join("a/b/f");
    let plain = || drop(File::open(&path).unwrap());
    let looked = || drop(root.locate(Path::new("a/b/f"), Access::Read, &protected).unwrap());
    let time = |work: &dyn Fn()| {
        let began = Instant::now();
        (0..BATCH).for_each(|_| work());
        began.elapsed() / BATCH
    };
    // In turns, and the best batch of each, since other work shares this machine.
    let (mut best_plain, mut best_looked) = (Duration::MAX, Duration::MAX);
    for _ in 0..300 {
        best_plain = best_plain.min(time(&plain));
        best_looked = best_looked.min(time(&looked));
    }
    let ratio = best_looked.as_secs_f64() / best_plain.as_secs_f64();
    eprintln!("plain open {best_plain:?}, located and open {best_looked:?}, {ratio:.2}x");
    let bound = if cfg!(debug_assertions) { 3.0 } else { 1.25 };
    assert!(ratio <= bound, "{ratio:.2}x, the bound is {bound}x");
}
