//! C10, C14: what a supervisor shares with its launcher, and what is left when both die at once.

use super::deadline::end_all;
use super::{Faults, Landlock, Native, Project, alive, gone_after, is_root, marker, outside};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Tells its supervisor's number, and leaves daemons behind.
fn daemons(mark: &str) -> String {
    format!(
        "echo $PPID > number; setsid sleep {mark} & (trap '' TERM HUP; sleep {mark}; sleep {mark}) & sleep {mark}"
    )
}

/// Kills launcher and supervisor so that neither has time for the other; whether everything went.
fn nothing_is_left(mut launcher: Child, number: &Path, mark: &str, count: usize) -> bool {
    let mut supervisor = None;
    wait_until("the command runs", || {
        let told = std::fs::read_to_string(number).unwrap_or_default();
        supervisor = told.trim().parse().ok().and_then(Pid::from_raw);
        supervisor.is_some() && alive(mark) >= count
    });
    kill_process(Pid::from_child(&launcher), Signal::STOP).unwrap();
    kill_process(supervisor.unwrap(), Signal::KILL).unwrap();
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    let gone = gone_after(mark, Duration::from_secs(20));
    end_all(mark);
    gone.is_some()
}

#[test]
fn nothing_outlives_supervisor_and_launcher_without_namespaces() {
    let Some(project) = Project::new(Landlock) else { return };
    let mark = marker();
    let launcher = project.command(&[], &["sh", "-c", &daemons(&mark)]).spawn().unwrap();
    assert!(nothing_is_left(launcher, &project.dir().join("number"), &mark, 4));
}

#[test]
fn nothing_outlives_supervisor_and_launcher_behind_the_fence() {
    let instance = TestInstance::with_config(
        r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart"}}}"#,
    );
    assert_eq!(instance.tool("list_dir", "{}").code, 0);
    let mark = marker();
    std::fs::write(instance.workspace().join("daemons.sh"), daemons(&mark)).unwrap();
    let launcher = instance.command(&["tool", "exec", r#"{"command": "sh daemons.sh"}"#]).spawn().unwrap();
    assert!(nothing_is_left(launcher, &instance.workspace().join("number"), &mark, 3));
}

/// The one child of a launcher, which waits for a command.
fn supervisor(launcher: &Child) -> String {
    let children = format!("/proc/{0}/task/{0}/children", launcher.id());
    let mut number = String::new();
    wait_until("there is a supervisor", || {
        number = std::fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
        !number.is_empty()
    });
    number
}

#[test]
fn a_supervisor_has_memory_of_its_own() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Native).filter(|_| is_root()) else {
        picoclaw_testing::skip!("only root may compare two undumpable processes");
        return;
    };
    let script = "import ctypes, os, sys
number = {'x86_64': 312, 'aarch64': 272}[os.uname().machine]
print(ctypes.CDLL(None).syscall(number, int(sys.argv[1]), int(sys.argv[2]), 1, 0, 0))";
    let mark = marker();
    let exec = format!(r#"{{"command": "sleep {mark}"}}"#);
    let commands: [(&str, Command); 2] = [
        ("run", project.command(&[], &["sleep", &mark])),
        ("tool exec", project.instance.command(&["tool", "exec", &exec])),
    ];
    for (why, mut command) in commands {
        let mut launcher = command.spawn().unwrap();
        let supervisor = supervisor(&launcher);
        wait_until("the command runs", || alive(&mark) > 1);
        let same =
            outside(&project.dir(), &["python3", "-c", script, &launcher.id().to_string(), &supervisor]);
        assert_eq!(same.code, 0, "{same:?}");
        faults
            .check(same.stdout.trim() != "0", format!("{why}: the supervisor shares its launcher's memory"));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        wait_until("it has gone", || alive(&mark) == 0);
    }
}

#[test]
fn records_of_killed_runs_are_swept() {
    let Some(project) = Project::new(Native) else { return };
    let mark = marker();
    let records = || -> Vec<_> {
        let entries = std::fs::read_dir(project.instance.home().join("state/running")).unwrap().flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    for _ in 0..3 {
        let mut launcher = project.command(&[], &["sleep", &mark]).spawn().unwrap();
        wait_until("it runs", || alive(&mark) > 1);
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        // The next would be killed before it runs, if this were taken for it.
        wait_until("it is gone", || alive(&mark) == 0);
    }
    assert!(!records().is_empty(), "the control: a killed run leaves its record");
    assert_eq!(project.sh(&[], "true").code, 0);
    assert!(records().is_empty(), "{:?}", records());
}

#[test]
fn little_memory_is_an_error_and_no_crash() {
    let mut faults = Faults::default();
    let Some(project) = Project::new(Native) else { return };
    let binary = TestInstance::binary();
    let limited = |kib: u32, words: &[&str]| {
        let line = format!("ulimit -d {kib}; exec \"$@\"");
        let mut command = Command::new("sh");
        let like = project.command(&[], &[]);
        command.args(["-c", &line, "sh"]).arg(&binary).args(words).current_dir(project.dir());
        command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().unwrap().status
    };
    let starts =
        |kib: &u32| limited(*kib, &["version"]).success() && limited(*kib, &["run", "--", "true"]).success();
    let Some(least) = (64..16_384).step_by(64).find(starts) else { return };
    for kib in (least..least + 1024).step_by(128) {
        for words in [
            &["run", "--ro", "/no/such", "--", "true"][..],
            &["run", "--", "no-such-program"],
            &["tool", "no_such_tool", "{}"],
            &["config", "check", "--config", "/no/such"],
        ] {
            let status = limited(kib, words);
            faults.check(status.code().is_some(), format!("{kib} KiB: {words:?}: {status:?}"));
        }
    }
}
