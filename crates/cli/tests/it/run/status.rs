//! Exit codes: the command's own, and what went wrong about the cage.

use super::{Project, is_here};
use crate::test_instance::ran;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

#[test]
fn the_status_is_the_commands_own_or_says_what_went_wrong() {
    let Some(project) = Project::new("exit codes") else { return };
    let script = project.file("project/not-executable", "#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o644)).unwrap();
    let lost = project.file("project/no-interpreter", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&lost, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, text) in [("plain-script", &b"exit $#\n"[..]), ("no-script", b"MZ\0\0"), ("empty", b"")] {
        let file = project.file(&format!("project/{name}"), "");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (why, arguments, code, says) in [
        ("success", &["--", "true"][..], 0, ""),
        ("a script that names no interpreter", &["./plain-script", "a", "-b"], 2, ""),
        ("an empty one", &["./empty"], 0, ""),
        ("a program of another system", &["./no-script"], 126, "Exec format error"),
        ("without the dashes", &["sh", "-c", "exit 8"], 8, ""),
        ("without them, after a flag", &["--net", "none", "sh", "-c", "exit 8"], 8, ""),
        ("dashes of its own", &["--", "sh", "-c", "exit $#", "a", "--", "--net"], 2, ""),
        ("failure", &["--", "false"], 1, ""),
        ("its own number", &["--", "sh", "-c", "exit 7"], 7, ""),
        ("its own, though we use it too", &["--", "sh", "-c", "exit 125"], 125, ""),
        ("the highest", &["--", "sh", "-c", "exit 255"], 255, ""),
        ("killed", &["--", "sh", "-c", "kill -KILL $$"], 137, ""),
        ("terminated", &["--", "sh", "-c", "kill -TERM $$"], 143, ""),
        ("aborted", &["--", "sh", "-c", "kill -ABRT $$"], 134, ""),
        ("out of time", &["--timeout", "0.3", "--", "sleep", "1000"], 124, "timed out after 0.3 s"),
        (
            "out of time, whatever it says to SIGTERM",
            &["--timeout", "0.3s", "--", "sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"],
            124,
            "timed out",
        ),
        ("within its time", &["--timeout", "1m", "--", "sh", "-c", "exit 3"], 3, ""),
        (
            "out of time, though it stops itself and others go on",
            &["--timeout", "0.3", "--", "sh", "-c", "sleep 1000 & kill -STOP $$"],
            124,
            "timed out",
        ),
        ("not found", &["--", "no-such-program"], 127, "`no-such-program`: command not found"),
        ("not found by its path", &["--", "./missing"], 127, "command not found"),
        ("not executable", &["--", "./not-executable"], 126, "cannot be executed"),
        ("a directory", &["--", "/usr"], 126, "cannot be executed"),
        (
            "an interpreter that is not there",
            &["--", "./no-interpreter"],
            127,
            "no-interpreter` exists, but its interpreter `/no/such/interpreter` was not found",
        ),
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert!(ran.stderr.contains(says), "{why}: {ran:?}");
        assert!(!says.is_empty() || ran.stderr.is_empty(), "{why}: nothing to add: {ran:?}");
    }
}

#[test]
fn a_script_that_the_cage_does_not_show_is_not_blamed_on_its_interpreter() {
    let Some(project) = Project::new("a hidden script") else { return };
    let script = project.file("outside/script", "#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    // The cage shows the script, and not the link in between.
    let between = project.file("between/file", "").with_file_name("link");
    symlink(&script, &between).unwrap();
    symlink(&between, project.file("project/file", "").with_file_name("link")).unwrap();
    let ran = project.run(&["--", "./link"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    assert!(
        ran.stderr.contains("link` exists, but the cage does not show it, or a link that leads to it\n"),
        "{ran:?}"
    );
}

#[test]
fn a_name_forges_no_line_of_a_message() {
    let Some(project) = Project::new("names with line feeds") else { return };
    let evil = "gone\nhint: run `evil`";
    let path = format!("./{evil}");
    project.file(&format!("project/{evil} too"), "");
    let (file, unprotected) = (format!("{path} too"), format!("../{evil}"));
    for arguments in [
        &["--", &path][..],
        &["--", &file],
        &["--workspace", &path, "--", "true"],
        &["--workspace", &file, "--", "true"],
        &["--root", &path, "--", "true"],
        &["--ro", &path, "--", "true"],
        &["--unprotect", &unprotected, "--", "true"],
    ] {
        let ran = project.run(arguments);
        assert!(ran.code != 0 && ran.stderr.contains("gone\\nhint: "), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("\nhint: run"), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_starts() {
    let Some(project) = Project::new("refusals") else { return };
    project.file("shown/file", "");
    let shown = project.instance.dir().join("shown").display().to_string();
    let home = project.instance.home().display().to_string();
    let many: Vec<String> = (0..2_000).map(|n| format!("--expose={shown}:/shown/{n}:ro")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (config, kernel) = (format!("{home}/config.json"), format!("{shown}:/proc/x:ro"));
    let (devices, everything) = (format!("{shown}:/dev/x:ro"), format!("{shown}:/:rw"));
    let (three, mode, dots) =
        (format!("{shown}:/a:/b:ro"), format!("{shown}:/a:rx"), format!("{shown}:/a/../b:ro"));
    for (why, flags, code, says) in [
        // The text of the command line: 2.
        ("two parts", &["--expose", "/usr:/x"][..], 2, "is not SRC:DST:MODE"),
        ("four parts", &["--expose", &three], 2, "is not SRC:DST:MODE"),
        ("nothing", &["--expose", ""], 2, "is not SRC:DST:MODE"),
        ("an unknown mode", &["--expose", &mode], 2, "the mode is `ro` or `rw`, not `rx`"),
        ("a relative source", &["--expose", "shown:/x:ro"], 2, "absolute paths"),
        ("a relative target", &["--expose", "/usr:x:ro"], 2, "absolute paths"),
        ("a network that is none", &["--net", "some"], 2, "invalid value 'some'"),
        ("a variable without a value", &["--env", "A"], 2, "is not K=V"),
        ("a variable without a name", &["--env", "=x"], 2, "is not K=V"),
        ("no size", &["--memory", "lots"], 2, "`lots` is not a size"),
        ("a size beyond all numbers", &["--memory", "99999999999999999999G"], 2, "is not a size"),
        ("no time", &["--timeout", "soon"], 2, "`soon` is not a time"),
        ("no time at all", &["--timeout", "0"], 2, "`0` is not a time"),
        ("an unknown flag", &["--rooot"], 2, "unexpected argument '--rooot'"),
        // The machine and the cage: 125.
        ("a source that is not there", &["--ro", "/no/such/place"], 125, "`/no/such/place`"),
        ("the same, relative", &["--rw", "no-such-place"], 125, "no-such-place"),
        ("the whole machine", &["--ro", "/"], 125, "belongs to the cage"),
        ("over everything", &["--expose", &everything], 125, "belongs to the cage"),
        ("over /proc", &["--expose", &kernel], 125, "`/proc/x` belongs to the cage"),
        ("over /dev", &["--expose", &devices], 125, "`/dev/x` belongs to the cage"),
        ("the kernel's own files", &["--expose", "/proc/1:/x:ro"], 125, "belongs to the kernel"),
        ("dots", &["--expose", &dots], 125, "without `.` and `..`"),
        ("the configuration", &["--ro", &config], 125, "is protected"),
        ("the whole instance", &["--rw", &home], 125, "is protected"),
        ("two thousand exposures", &many, 125, "the maximum is 512"),
        ("a toolchain that nobody knows", &["--toolchain", "rsut"], 125, "no toolchain `rsut`"),
        ("a workspace that is not there", &["--workspace", "/no/such"], 125, "`/no/such`"),
        ("a workspace that is a file", &["--workspace", "/etc/passwd"], 125, "is not a directory"),
    ] {
        let ran = project.run(&[flags, &["--", "touch", "started"]].concat());
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert!(ran.stderr.contains(says), "{why}: {ran:?}");
        assert_eq!(ran.stdout, "", "{why}");
        assert!(!project.dir().join("started").exists(), "{why}: it was started");
    }
    for arguments in [&["--net", "none"][..], &["--"], &[]] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, 2, "there is no command: {arguments:?}: {ran:?}");
    }
    assert_eq!(project.run(&["--", "touch", "started"]).code, 0);
    assert!(project.dir().join("started").exists(), "the control: without faults it is started");
}

#[test]
fn a_workspace_holds_no_more_than_a_project() {
    let Some(project) = Project::new("workspaces") else { return };
    let top = project.instance.dir().to_owned();
    std::fs::create_dir_all(top.join("person")).unwrap();
    symlink("/", top.join("project/top")).unwrap();
    symlink(project.instance.home(), top.join("project/instance")).unwrap();
    assert_eq!(project.sh("true").code, 0, "the instance is furnished");
    for (why, place, says) in [
        ("the whole machine", "/", "is `/`"),
        ("the whole machine, behind a link", "{dir}/project/top", "is `/`"),
        ("root's home", "/root", "holds the home directory `/root`"),
        ("the operator's home", "{dir}/person", "holds the home directory"),
        ("the instance", "{dir}/home", "holds the instance"),
        ("the instance, behind a link", "{dir}/project/instance", "holds the instance"),
        ("what lies above the instance", "{dir}", "holds the instance"),
        ("the ledger", "{dir}/home/ledger", "which the instance keeps for itself"),
        ("the state", "{dir}/home/state", "which the instance keeps for itself"),
        ("the user environments", "{dir}/home/runtime-user-env", "which the instance keeps for itself"),
    ] {
        let place = place.replace("{dir}", top.to_str().unwrap());
        if std::fs::read_dir(&place).is_err() {
            picoclaw_testing::skip!("`{place}` cannot be looked at here: {why}");
            continue;
        }
        let mut command = project.command(&["--workspace", &place, "--", "true"]);
        let ran = crate::test_instance::ran(command.env("HOME", top.join("person")).output().unwrap());
        assert_eq!(ran.code, 125, "{why}: {ran:?}");
        assert!(ran.stderr.contains(says) && ran.stderr.contains("hint:"), "{why}: {ran:?}");
        let mut command = project.command(&["--", "true"]);
        let output = command.env("HOME", top.join("person")).current_dir(&place).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{why}, as the current directory");
    }
}

#[test]
fn every_run_is_in_the_ledger_from_its_decision_to_its_end() {
    let Some(project) = Project::new("the ledger") else { return };
    std::os::unix::fs::symlink("/etc", project.dir().join("link")).unwrap();
    let through_link = format!("/usr/share:{}/link/x:ro", project.dir().canonicalize().unwrap().display());
    for (why, arguments, outcome) in [
        ("a good end", &["--", "true"][..], "ok"),
        ("a bad one", &["--", "sh", "-c", "exit 9"], "exit 9"),
        ("a signal", &["--", "sh", "-c", "kill -9 $$"], "signal 9"),
        ("out of time", &["--timeout", "0.2", "--", "sleep", "1000"], "timed out"),
        (
            "a cage that cannot be built",
            &["--expose", &through_link, "--", "true"],
            "not started: could not make the directory",
        ),
    ] {
        project.run(arguments);
        let records = project.instance.records();
        let [.., decided, finished] = &records[..] else { panic!("{why}: {records:?}") };
        assert_eq!((&decided["phase"], &decided["tool"]), (&"decided".into(), &"run".into()), "{why}");
        assert_eq!(finished["phase"], "finished", "{why}");
        let told = finished["outcome"].as_str().unwrap();
        assert!(
            told == outcome || (outcome.starts_with("not") && told.starts_with(outcome)),
            "{why}: {told}"
        );
        assert!(decided["enforced"].to_string().contains("filesystem held"), "{why}: {decided}");
    }
    project.run(&["--", "true", "--token", "hunter2hunter2", "https://u:hunter2hunter2@example.com/"]);
    let [.., decided, _] = &project.instance.records()[..] else { panic!("no records") };
    let intent = decided["intent"].as_str().unwrap();
    assert!(intent.contains("true --token") && !intent.contains("hunter2"), "{intent}");
}

/// Runs its arguments ten times, as a subreaper that never waits for its children; says how many are left.
const HARD_HEARTED: &str = "import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for _ in range(10):
    subprocess.run(sys.argv[1:], check=True)
left = 0
for name in os.listdir('/proc'):
    if name.isdigit():
        try:
            stat = open(f'/proc/{name}/stat').read()
        except OSError:
            continue
        left += int(stat.rsplit(')', 1)[1].split()[1]) == os.getpid()
print(left)";

#[test]
fn nobody_else_has_to_wait_for_a_supervisor() {
    let Some(project) = Project::new("supervisors") else { return };
    if !is_here("python3") {
        picoclaw_testing::skip!("supervisors: no python3 here");
        return;
    }
    let exec = r#"{"action": "run", "command": "true"}"#;
    for (why, own) in [
        ("a command of its own", project.command(&["--", "true"])),
        ("a call", project.instance.command(&["tool", "exec", exec])),
        ("a turn", project.instance.command(&["agent", "-m", "true"])),
    ] {
        let mut parent = Command::new("python3");
        parent.args(["-c", HARD_HEARTED]).arg(own.get_program()).args(own.get_args());
        parent.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = ran(parent.current_dir(project.dir()).output().unwrap());
        assert_eq!(ran.code, 0, "{why}: {ran:?}");
        assert_eq!(ran.stdout.lines().last(), Some("0"), "{why}: {ran:?}");
    }
}

#[test]
fn a_ledger_that_may_not_grow_is_an_error_and_no_signal() {
    let Some(project) = Project::new("a limit on files") else { return };
    let plain = project.command(&["--", "true"]);
    assert!(project.run(&["--", "true"]).code == 0, "the control run");
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            limited.env(name, value);
        }
    }
    let done = crate::test_instance::ran(limited.current_dir(project.dir()).output().unwrap());
    assert_eq!(done.code, 125, "{done:?}");
    assert!(done.stderr.contains("File too large"), "{done:?}");
}

#[test]
fn a_name_in_an_error_is_written_out() {
    let Some(project) = Project::new("names in errors") else { return };
    let ran = project.run(&["--ro", "/no/\u{1b}[2Jplace", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("/no/\\u{1b}[2Jplace") && !ran.stderr.contains('\u{1b}'), "{ran:?}");
}
