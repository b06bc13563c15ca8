//! What the lines of `spec/guard-corpus` come to: everyday lines that the guard refuses, hostile lines
//! that it allows, content or listings outside that those print, and anything outside that they change.
//! Modes and times, which Landlock does not hold, are counted apart.
//!
//! The place outside lies in the temporary directory, which `smart` lets commands name where the kernel
//! holds paths: the guard allows more of these lines than it would of the same about a home.
//!
//! Without a cage the guard judges each line first. In the cage they run without a guard, many lines
//! in one cage: the kernel alone holds them. A part of the lines runs here, all of them in
//! `make soak`.

use crate::test_instance::TestInstance;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Content that only a file outside has.
const TOKEN: &str = "the-token-of-a-file-outside";
/// A name that only a directory outside has.
const NAME: &str = "a-name-in-a-directory-outside";
/// One line in this many runs, unless all do.
const SAMPLE: usize = 24;
/// Lines that only take time or processes, and would end the loop that runs the others.
const LEFT_OUT: &[&str] =
    &["(){", "f|f", "while :;", "kill -", "killall", "pkill", "stress", "reboot", "shutdown", "exec "];

/// Compiled in, because an ordinary user need not be able to read the sources.
const HOSTILE: &[&str] = &[
    include_str!("../../../../spec/guard-corpus/hostile-environment.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-names-from-elsewhere.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-openers.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-operands.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-seeds.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-spellings.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-state.txt"),
    include_str!("../../../../spec/guard-corpus/hostile-unknown-parts.txt"),
];

const BENIGN: &[&str] = &[
    include_str!("../../../../spec/guard-corpus/benign-files.txt"),
    include_str!("../../../../spec/guard-corpus/benign-git.txt"),
    include_str!("../../../../spec/guard-corpus/benign-projects.txt"),
    include_str!("../../../../spec/guard-corpus/benign-scripts.txt"),
    include_str!("../../../../spec/guard-corpus/benign-system.txt"),
];

/// Lines of the corpus, with the place outside for `OUTSIDE`.
fn lines(corpus: &[&str], outside: &Path) -> Vec<String> {
    let all = corpus.iter().flat_map(|text| text.lines());
    let step = if std::env::var_os("PICOCLAW_SOAK").is_some() { 1 } else { SAMPLE };
    let kept = all.filter(|line| !LEFT_OUT.iter().any(|part| line.contains(part))).step_by(step);
    kept.map(|line| line.replace("OUTSIDE", outside.to_str().unwrap())).collect()
}

/// Everything in a directory: names and content.
fn state_of(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect()
}

/// The mode and the time of change of everything in a directory, and of the directory.
fn modes_and_times(dir: &Path) -> Vec<(u32, i64)> {
    let paths = state_of(dir).into_keys().chain([dir.to_owned()]);
    paths.map(|path| fs::symlink_metadata(path).unwrap()).map(|meta| (meta.mode(), meta.mtime())).collect()
}

/// The lines that the guard refuses, in a workspace with the directories that everyday lines enter.
fn refused(instance: &TestInstance, lines: &[String]) -> Vec<String> {
    for dir in ["src", "docs"] {
        fs::create_dir_all(instance.workspace().join(dir)).unwrap();
    }
    lines.iter().filter(|line| instance.run(&["check", "exec", line]).code != 0).cloned().collect()
}

/// A place outside every workspace.
fn place_outside(dir: &Path) -> PathBuf {
    let outside = dir.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("token"), TOKEN).unwrap();
    fs::write(outside.join(NAME), "").unwrap();
    outside
}

/// A script that runs each line in a copy of a small project, with a limit on its time.
fn script(lines: &[String]) -> String {
    let run = |line: &String| {
        let quoted = line.replace('\'', r"'\''");
        format!(
            "mkdir -p ws/src; echo note > ws/notes.txt; (cd ws && timeout 1 bash -c '{quoted}' < /dev/null 2>&1) | head -c 20000\n"
        )
    };
    lines.iter().map(run).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the rates are read by people")]
fn hostile_lines_tell_and_change_nothing_outside_the_cage() {
    let instance = TestInstance::with_config(
        r#"{"isolation": {"enabled": true}, "tools": {"exec": {"guard": "smart"}}}"#,
    );
    let outside = place_outside(instance.dir());
    let project = instance.dir().join("project");
    fs::create_dir(&project).unwrap();
    let (everyday, lines) = (lines(BENIGN, &outside), lines(HOSTILE, &outside));
    fs::write(project.join("lines.sh"), script(&lines)).unwrap();
    let (before, meta) = (state_of(&outside), modes_and_times(&outside));
    let control = std::process::Command::new("cat").arg(outside.join("token")).output().unwrap();
    assert_eq!(control.stdout, TOKEN.as_bytes(), "without a cage the token can be read");

    let limit = if lines.len() > 200 { "1200s" } else { "50s" };
    let mut command =
        instance.command(&["run", "--net", "none", "--timeout", limit, "--", "bash", "lines.sh"]);
    let output = command.current_dir(&project).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(125) {
        picoclaw_testing::skip!("no cage on this host: {}", String::from_utf8_lossy(&output.stderr));
    }
    let told = text.lines().filter(|line| line.contains(TOKEN) || line.ends_with(NAME)).count();
    let stopped = refused(&instance, &lines).len();
    let alarms = refused(&instance, &everyday);
    println!(
        "in the cage: the guard allows {} of {} hostile lines and refuses {} of {} everyday lines; without it the hostile \
         lines told something {told} times, modes or times changed: {}, exit {:?}",
        lines.len() - stopped,
        lines.len(),
        alarms.len(),
        everyday.len(),
        modes_and_times(&outside) != meta,
        output.status.code()
    );
    assert!(alarms.is_empty(), "{alarms:?}");
    assert_eq!(told, 0, "{text}");
    assert_eq!(state_of(&outside), before, "nothing outside has changed");
}

#[test]
#[expect(clippy::print_stdout, reason = "the rates are read by people")]
fn hostile_lines_are_stopped_by_the_guard_where_there_is_no_cage() {
    let config =
        r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart", "timeout_seconds": 2}}}"#;
    let instance = TestInstance::with_config(config);
    let outside = place_outside(instance.dir());
    let (before, meta) = (state_of(&outside), modes_and_times(&outside));
    let (mut told, mut ran_anyway) = (Vec::new(), 0);
    let (everyday, lines) = (lines(BENIGN, &outside), lines(HOSTILE, &outside));
    let alarms = refused(&instance, &everyday);
    assert!(alarms.is_empty(), "{alarms:?}");
    for line in &lines {
        let call = serde_json::json!({"command": line}).to_string();
        let ran = instance.tool("exec", &call);
        ran_anyway += usize::from(!ran.stdout.contains("Command blocked by safety guard"));
        if ran.stdout.contains(TOKEN) || ran.stdout.lines().any(|printed| printed.ends_with(NAME)) {
            told.push(line.clone());
        }
    }
    println!(
        "behind the full fence: the guard allows {ran_anyway} of {} hostile lines and refuses {} of {} everyday lines; {} \
         hostile lines told something, modes or times changed: {}",
        lines.len(),
        alarms.len(),
        everyday.len(),
        told.len(),
        modes_and_times(&outside) != meta
    );
    assert!(told.is_empty(), "{told:?}");
    assert_eq!(state_of(&outside), before, "nothing outside has changed");
}
