//! In which order a write syncs and renames, as `strace` sees it.
#![expect(clippy::disallowed_methods, reason = "a test reads the trace by its path")]
#![expect(clippy::disallowed_types, reason = "the child is this test program")]

use super::fixture::Fixture;
use crate::root::{Overwrite, ProtectedInodes, Root, WriteContext};
use picoclaw_policy::Access;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Names the place where a copy of this program is to write.
const AT: &str = "PICOCLAW_TEST_DURABLE";

#[test]
#[ignore = "run by the other test, under strace"]
fn two_writes() {
    let Some(top) = std::env::var_os(AT) else { return };
    let home = Path::new(&top).join("home");
    let root = Root::open(&home.join("workspace")).unwrap();
    let context = WriteContext::new(&home.join("state/locks"), Duration::from_secs(10)).unwrap();
    for content in ["new", "replaced"] {
        let place = root.locate(Path::new("d/f"), Access::Write, &ProtectedInodes::default()).unwrap();
        place.write(content.as_bytes(), Overwrite::Yes, &context).unwrap();
    }
}

#[test]
fn a_write_syncs_the_file_before_its_new_name_and_the_directory_after_it() {
    let fixture = Fixture::in_memory();
    fixture.build("dir d");
    let top = fixture.home().parent().unwrap().to_owned();
    let log = top.join("strace");
    let can_trace = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !can_trace.is_ok_and(|ran| ran.status.success()) {
        picoclaw_testing::skip!("`strace` is not installed, or may not trace here");
        return;
    }
    let ran = Command::new("strace")
        .args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2,linkat", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--test-threads=1", "root::tests::durable::two_writes"])
        .env(AT, &top)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let log = std::fs::read_to_string(&log).unwrap();
    let directory = format!("<{}>)", fixture.workspace().join("d").canonicalize().unwrap().display());
    let steps = log.lines().filter(|line| line.contains("/workspace/d")).map(|line| {
        match (line.contains("sync("), line.contains(&directory)) {
            (true, true) => "sync the directory",
            (true, false) => "sync the file",
            (false, _) => "rename",
        }
    });
    let write = ["sync the file", "rename", "sync the directory"];
    assert_eq!(steps.collect::<Vec<_>>(), [write, write].concat(), "{log}");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("d/f")).unwrap(), "replaced");
}
