//! Files as the standard streams of a caged command: by descriptor and by name.

use super::Project;
use std::fs::{File, OpenOptions, read_to_string};

#[test]
fn streams_that_are_files_can_be_opened_by_name() {
    let Some(project) = Project::new("streams by name") else { return };
    let (input, out) =
        (project.file("given", "one\ntwo\n"), project.file("told", "older and longer than that\n"));
    let line = "read one; echo \"$one\"; cat /dev/stdin > /dev/stdout; echo err > /dev/stderr";
    let both = OpenOptions::new().write(true).truncate(true).open(&out).unwrap();
    let done = project
        .command(&["--", "sh", "-c", line])
        .stdin(File::open(&input).unwrap())
        .stdout(both.try_clone().unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "err\n");
    // Opened anew a file begins at its front, as everywhere.
    assert_eq!(read_to_string(&out).unwrap(), "one\ntwo\n");
}

#[test]
fn a_stream_gives_no_right_but_its_own() {
    let Some(project) = Project::new("rights of streams") else { return };
    let beside = project.file("beside", "beside");
    let log = project.file("log", "first\n");
    let given = project.file("given", "given");
    let (added, other) = (OpenOptions::new().append(true).open(&log).unwrap(), File::open(&given).unwrap());
    for (why, line) in [
        ("what is added to is not overwritten", "echo second; : > /dev/stdout; exit 1"),
        ("nor read", "timeout 1 cat < /dev/stdout"),
        ("what is read is not written", "echo x > /dev/stdin"),
        ("nor cut short", "truncate -s 0 /dev/stdin"),
        ("what lies beside a stream stays out of reach", "cat ../beside"),
    ] {
        let done = project
            .command(&["--", "sh", "-c", line])
            .stdin(other.try_clone().unwrap())
            .stdout(added.try_clone().unwrap())
            .output()
            .unwrap();
        assert!(!done.status.success(), "{why}: {done:?}");
    }
    let named = rustix::fs::open(&given, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    let done = project.command(&["--", "sh", "-c", "cat < /dev/stdin"]).stdin(named).output().unwrap();
    assert_eq!(
        (done.status.success(), done.stdout.len()),
        (false, 0),
        "what is only named is not read: {done:?}"
    );
    assert_eq!(read_to_string(&log).unwrap(), "first\nsecond\n");
    assert_eq!(read_to_string(&given).unwrap(), "given");
    assert_eq!(read_to_string(&beside).unwrap(), "beside");
}
