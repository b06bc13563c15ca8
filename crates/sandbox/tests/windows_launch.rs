//! Commands on Windows: output, deadline, cancellation, the tree's end, input, and a confinement that holds or refuses.

#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Limits, Network};
use picoclaw_sandbox::isolate::{
    Backend, Cage, Confinement, Plan, SearchPath, UserEnvironment, windows_rules,
};
use picoclaw_sandbox::launch::{
    Background, CancelToken, ChildSetup, Deadline, LaunchError, LaunchSpec, Output, OutputLimit, Principal,
    State, Status, Stdin, Streams, WindowSize, WorkDir, environment, find_program, run_to_end,
    run_with_output, start,
};
use picoclaw_testing::skip;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Long enough for every child that ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The variable that makes this program play the child.
const PART: &str = "PICOCLAW_TEST_PART";

/// What the child of a test does. It is this program, with one test selected.
#[test]
fn the_part_of_the_child() {
    let Ok(part) = std::env::var(PART) else { return };
    match part.as_str() {
        "output" => {
            println!("<out>");
            eprintln!("<err>");
            std::process::exit(3);
        }
        "flood" => (0..3000).for_each(|_| println!("0123456789012345678901234567890123456789")),
        "wait" => std::thread::sleep(Duration::from_secs(600)),
        "write" => {
            println!("<{}>", std::env::var("APPDATA").unwrap());
            let temp = PathBuf::from(std::env::var_os("TEMP").unwrap());
            std::fs::write(temp.join("inside.txt"), "x").unwrap();
            let _refused = std::fs::write("outside.txt", "x");
        }
        other => panic!("no part {other}"),
    }
}

/// What the child printed between `<` and `>`.
fn said(output: &str) -> &str {
    let (_, rest) = output.split_once('<').unwrap_or(("", ""));
    rest.split('>').next().unwrap_or_default()
}

fn host() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn cmd() -> PathBuf {
    let root = std::env::var_os("SystemRoot").unwrap();
    Path::new(&root).join("System32").join("cmd.exe")
}

/// This program, which plays `part` in `dir`.
fn spec(part: &str, dir: &Path) -> LaunchSpec {
    let mut environment = host();
    environment.push((PART.into(), part.into()));
    LaunchSpec {
        program: std::env::current_exe().unwrap(),
        argv: ["child", "--exact", "the_part_of_the_child", "--nocapture"].map(OsString::from).to_vec(),
        environment,
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(PATIENCE),
        output_limit: OutputLimit::default(),
        principal: Principal::Agent(AgentId::main()),
        setup: ChildSetup::unconfined(WorkDir::open(dir).unwrap()),
    }
}

#[test]
fn a_command_ends_with_its_code_and_its_output() {
    let dir = tempfile::tempdir().unwrap();
    let finished = run_to_end(spec("output", dir.path())).unwrap();
    assert_eq!(finished.status, Status::Exited(3));
    assert_eq!(said(&finished.stdout.to_text()), "out");
    assert_eq!(said(&finished.stderr.to_text()), "err");
}

/// The system has variables such as `=C:`, and spells others as it likes.
#[test]
fn the_variables_of_the_system_do_not_stop_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let system = [("=C:", r"C:\"), ("Path", "x"), ("PATH", "y")];
    let system = system.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut environment = environment::without_secrets(host().into_iter().chain(system), &[]);
    assert_eq!(environment::get(&environment, "path"), Some(OsStr::new("y")));
    environment::set(&mut environment, PART, "output");
    let finished = run_to_end(LaunchSpec { environment, ..spec("output", dir.path()) }).unwrap();
    assert_eq!(finished.status, Status::Exited(3));
}

#[test]
fn more_output_than_is_kept_is_cut_and_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let output_limit = OutputLimit { head: 1000, tail: 1000 };
    let finished = run_to_end(LaunchSpec { output_limit, ..spec("flood", dir.path()) }).unwrap();
    assert_eq!(finished.status, Status::Exited(0));
    assert!(finished.stdout.to_text().len() < 4000, "{}", finished.stdout.to_text().len());
}

#[test]
fn a_command_is_ended_at_its_deadline_and_when_it_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let deadline = Deadline::After(Duration::from_millis(500));
    let finished = run_to_end(LaunchSpec { deadline, ..spec("wait", dir.path()) }).unwrap();
    assert_eq!(finished.status, Status::TimedOut);
    let cancel = CancelToken::new();
    let canceller = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel();
    });
    let finished = run_with_output(spec("wait", dir.path()), &cancel, &|_| {}).unwrap();
    thread.join().unwrap();
    assert_eq!(finished.status, Status::Halted);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn a_command_in_the_background_reads_its_input_and_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let streams = || Streams::Plain { stdin: Stdin::Pipe, output: Output::Merged };
    let shell = || LaunchSpec {
        program: cmd(),
        argv: vec!["cmd".into()],
        streams: streams(),
        ..spec("wait", dir.path())
    };
    let background = Background::start(shell()).unwrap();
    background.write(b"exit 5\r\n").unwrap();
    assert_eq!(background.wait(PATIENCE), State::Ended(Status::Exited(5)));
    let background = Background::start(shell()).unwrap();
    assert_eq!(background.state(), State::Running);
    assert!(matches!(background.kill(), State::Ended(_)));
}

#[test]
fn a_pseudo_terminal_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let streams = Streams::Pty(WindowSize::default());
    let refused = start(LaunchSpec { streams, ..spec("wait", dir.path()) }).unwrap_err();
    assert_eq!(refused.to_string(), "PTY is not supported on Windows. Use background=true without pty.");
}

#[test]
fn a_program_is_found_along_the_path_and_no_batch_file_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tool.cmd"), "@exit").unwrap();
    std::fs::write(dir.path().join("tool"), "#!/bin/sh").unwrap();
    std::fs::write(dir.path().join("tool2.1.exe"), "").unwrap();
    let path = std::env::join_paths([dir.path(), cmd().parent().unwrap()]).unwrap();
    let found = find_program(OsStr::new("cmd"), &path, dir.path()).unwrap();
    assert_eq!(found.file_name().unwrap().to_ascii_lowercase(), "cmd.exe");
    let whole = cmd();
    assert_eq!(find_program(whole.as_os_str(), &path, dir.path()).unwrap(), whole);
    assert!(find_program(OsStr::new("tool2.1"), &path, dir.path()).is_ok());
    assert_eq!(find_program(OsStr::new("nothing"), &path, dir.path()).unwrap_err().exit_code(), 127);
    let refused = find_program(OsStr::new("tool"), &path, dir.path()).unwrap_err();
    assert_eq!(refused.exit_code(), 126);
    let why = std::error::Error::source(&refused).unwrap().to_string();
    assert!(why.contains("batch file"), "{why}");
}

#[test]
fn a_confined_command_has_its_own_environment_or_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let user = UserEnvironment::of(dir.path(), &Principal::Agent(AgentId::main()));
    user.prepare().unwrap();
    if let Err(error) = user.label_low() {
        skip!("this system labels no directory: {error}");
    }
    for path in windows_rules::directories(user.path()) {
        assert!(path.is_dir(), "{}", path.display());
    }
    let plan = Plan {
        mounts: Vec::new(),
        work_dir: dir.path().to_owned(),
        network: Network::Host,
        unix_sockets: false,
        limits: Limits::NONE,
        debug: false,
        tmp_mb: None,
    };
    let cage = Confinement::Cage(Arc::new(Cage::new(plan, Backend::RestrictedToken).unwrap()));
    let work_dir = WorkDir::open(user.path()).unwrap();
    let mut environment = windows_rules::variables(host(), user.path(), &[], SearchPath::Outside(None));
    environment.push((PART.into(), "write".into()));
    let setup = cage.child_setup(work_dir, Vec::new()).unwrap();
    let confined = LaunchSpec { environment, setup, ..spec("write", user.path()) };
    match run_to_end(confined) {
        Ok(finished) => {
            let appdata = user.path().join("AppData").join("Roaming");
            assert_eq!(said(&finished.stdout.to_text()), appdata.to_str().unwrap());
            assert!(user.path().join("tmp").join("inside.txt").exists(), "where it may write");
            assert!(!user.path().join("outside.txt").exists(), "where it may not");
        }
        Err(LaunchError::Step { step, source }) => {
            assert!(!user.path().join("tmp").join("inside.txt").exists(), "it ran all the same");
            skip!("no confined command starts on this system: {step}: {source}");
        }
        Err(other) => panic!("{other}"),
    }
}
