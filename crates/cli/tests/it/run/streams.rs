//! Files as the standard streams of a caged command: by descriptor and by name.

use super::Project;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions, read_to_string};
use std::io::{PipeReader, Read, Write};
use std::process::Command;

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

/// What a pipe holds now.
fn held(mut reader: PipeReader) -> String {
    fcntl_setfl(&reader, OFlags::NONBLOCK).unwrap();
    let mut text = vec![0; 4096];
    let length = reader.read(&mut text).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// A script that a shell reads from a pipe runs commands in cages, and what these write there would be its next lines.
#[test]
fn a_pipe_is_used_in_its_own_direction_alone() {
    let Some(project) = Project::new("directions of pipes") else { return };
    let caged = |line: &str| project.command(&["--", "sh", "-c", line]);
    let bare = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    };
    for is_caged in [false, true] {
        let command = |line: &str| if is_caged { caged(line) } else { bare(line) };
        let (input, mut script) = std::io::pipe().unwrap();
        script.write_all(b"line\n").unwrap();
        command("timeout 1 sh -c 'echo forged > /proc/self/fd/0'")
            .stdin(input.try_clone().unwrap())
            .output()
            .unwrap();
        let want = if is_caged { "line\n" } else { "line\nforged\n" };
        assert_eq!(held(input), want, "in a cage: {is_caged}");

        let (output, mut ours) = std::io::pipe().unwrap();
        ours.write_all(b"ours\n").unwrap();
        let line = "timeout 1 head -c 5 < /proc/self/fd/1 >&2; exit 0";
        let done = command(line).stdout(ours.try_clone().unwrap()).output().unwrap();
        let stolen = String::from_utf8_lossy(&done.stderr).contains("ours");
        assert_eq!((stolen, held(output)), (!is_caged, if is_caged { "ours\n" } else { "" }.to_owned()));

        let (_output, ours) = std::io::pipe().unwrap();
        let line = "perl -MFcntl -e 'fcntl(STDOUT, F_SETFL, O_NONBLOCK)'";
        assert!(command(line).stdout(ours.try_clone().unwrap()).output().unwrap().status.success());
        assert_eq!(fcntl_getfl(&ours).unwrap().contains(OFlags::NONBLOCK), !is_caged);
    }
}

#[test]
fn input_that_the_command_does_not_read_stays_in_the_pipe() {
    let Some(project) = Project::new("input of a loop") else { return };
    let run = project.command(&[]);
    for (line, want) in [
        ("printf 'a\\nb\\nc\\n' | while read f; do \"$PICO\" run -- true; echo $f; done", "a\nb\nc\n"),
        (
            "printf 'a\\nb\\nc\\n' | { \"$PICO\" run -- sh -c 'read f; echo \"got $f\"'; cat; }",
            "got a\nb\nc\n",
        ),
        ("printf 'a\\nb\\n' | { \"$PICO\" run -- sh -c 'exec <&-; exit 3'; echo $?; cat; }", "3\na\nb\n"),
        ("{ printf a; sleep 0.3; printf b; } | \"$PICO\" run -- cat", "ab"),
        (": | \"$PICO\" run -- wc -c", "0\n"),
        ("head -c 3000001 /dev/zero | \"$PICO\" run -- wc -c", "3000001\n"),
        ("head -c 3000001 /dev/zero | \"$PICO\" run -- cat | wc -c", "3000001\n"),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(project.dir()).env("PICO", run.get_program());
        shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let done = shell.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), want, "{line}: {done:?}");
    }
}

#[test]
fn a_file_that_is_read_only_in_the_cage_is_so_as_a_stream() {
    let Some(project) = Project::new("read-only streams") else { return };
    std::fs::create_dir(project.dir().join("shown")).unwrap();
    for (name, flags) in [(".envrc", &[][..]), ("shown/file", &["--ro", "shown"][..]), ("own", &[][..])] {
        let path = project.dir().join(name);
        std::fs::write(&path, "given\n").unwrap();
        let line = "cat; echo evil >> /proc/self/fd/0";
        let mut command = project.command(&[flags, &["--", "sh", "-c", line]].concat());
        let done = command.stdin(File::open(&path).unwrap()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), "given\n", "{name}: {done:?}");
        let want = if name == "own" { "given\nevil\n" } else { "given\n" };
        assert_eq!(read_to_string(&path).unwrap(), want, "{name}: {done:?}");
    }
}
