//! Many at once, many in a row, and as the user `nobody`. `PICOCLAW_SOAK=1` counts higher.

use super::{Project, alive, marker};
use crate::test_instance::ran;
use std::process::Command;

fn count(usually: usize, soaked: usize) -> usize {
    if std::env::var_os("PICOCLAW_SOAK").is_some() { soaked } else { usually }
}

fn mounts() -> usize {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count()
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let Some(project) = Project::new("many at once") else { return };
    let mark = marker();
    let before = mounts();
    let line = format!("sleep {mark} & echo $0 > file-$0; cat file-$0; exit $(($0 % 100))");
    let children: Vec<_> = (0..count(24, 200))
        .map(|number| {
            let mut command = project.command(&["--", "sh", "-c", &line, &number.to_string()]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            (number, command.spawn().unwrap())
        })
        .collect();
    for (number, child) in children {
        let ran = ran(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout), ((number % 100) as i32, format!("{number}\n")), "{}", ran.stderr);
    }
    assert_eq!(alive(&mark), 0);
    assert_eq!(mounts(), before);
    let verified = project.instance.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn many_in_a_row_leave_nothing() {
    let Some(project) = Project::new("many in a row") else { return };
    let mark = marker();
    let before = mounts();
    for round in 0..count(40, 5_000) {
        let ran = project.sh(&format!("sleep {mark} & exit 3"));
        assert_eq!(ran.code, 3, "round {round}: {ran:?}");
    }
    assert_eq!(alive(&mark), 0);
    assert_eq!(mounts(), before);
}

#[test]
fn nobody_in_particular_can_use_it_too() {
    if !rustix::process::geteuid().is_root() || !super::is_here("setpriv") {
        picoclaw_testing::skip!("only root can become nobody");
        return;
    }
    let Some(project) = Project::new("an ordinary user") else { return };
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    // Written by another process: a child that another test starts meanwhile would have the file open for writing.
    let copied = Command::new("cp").arg(project.command(&[]).get_program()).arg(at("picoclaw")).status();
    assert!(copied.unwrap().success());
    std::fs::create_dir(at("project")).unwrap();
    for path in [place.path().to_owned(), at("picoclaw"), at("project")] {
        std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(at("picoclaw")).arg("run");
        command.args(arguments).env_clear().env("PATH", super::SYSTEM_PATH).env("HOME", place.path());
        ran(command.env("PICOCLAW_HOME", at("home")).current_dir(at("project")).output().unwrap())
    };
    let probe = run(&["--", "true"]);
    if probe.code == 125 {
        picoclaw_testing::skip!("an ordinary user gets no cage here: {}", probe.stderr);
        return;
    }
    for (why, line, code, out) in [
        ("its own status", "exit 7", 7, ""),
        ("its own user", "id -u", 0, "65534\n"),
        ("it writes in its project", "echo x > made && cat made", 0, "x\n"),
        ("nothing is written above", "echo x > ../made || echo refused", 0, "refused\n"),
        ("no network", "tail -n +3 /proc/net/dev | wc -l", 0, "1\n"),
        ("no capability", "grep CapEff /proc/self/status", 0, "CapEff:\t0000000000000000\n"),
        ("its instance is hidden", "ls ../home/config.json 2>/dev/null || echo no", 0, "no\n"),
    ] {
        let ran = run(&["--", "sh", "-c", line]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, out), "{why}: {}", ran.stderr);
    }
    assert!(at("project/made").exists() && !at("made").exists());
    assert_eq!(run(&["--timeout", "0.3", "--", "sleep", "1000"]).code, 124);
    assert_eq!(run(&["--ro", "/no/such", "--", "true"]).code, 125);
}
