//! Commands on Windows: output, deadline, cancellation, the tree's end, input, and a confinement that holds or refuses.

#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Limits, Network};
use picoclaw_sandbox::isolate::{Backend, Cage, Confinement, Plan, UserEnvironment, windows_rules};
use picoclaw_sandbox::launch::{
    Background, CancelToken, ChildSetup, Deadline, LaunchError, LaunchSpec, Output, OutputLimit, Principal,
    State, Status, Stdin, Streams, WindowSize, WorkDir, find_program, run_to_end, run_with_output, start,
};
use picoclaw_testing::skip;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Long enough for every child that ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A line that never ends by itself.
const FOREVER: &str = "for /L %i in (0,0,1) do @rem";

fn host() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn cmd() -> PathBuf {
    let root = std::env::var_os("SystemRoot").unwrap();
    Path::new(&root).join("System32").join("cmd.exe")
}

/// `line` run by `cmd` in `dir`.
fn spec(line: &str, dir: &Path) -> LaunchSpec {
    LaunchSpec {
        program: cmd(),
        argv: ["cmd", "/d", "/c", line].map(OsString::from).to_vec(),
        environment: host(),
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
    let finished = run_to_end(spec("echo out& echo err 1>&2& exit 3", dir.path())).unwrap();
    assert_eq!(finished.status, Status::Exited(3));
    assert_eq!(finished.stdout.to_text().trim(), "out");
    assert_eq!(finished.stderr.to_text().trim(), "err");
}

#[test]
fn more_output_than_is_kept_is_cut_and_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let output_limit = OutputLimit { head: 1000, tail: 1000 };
    let line = "for /L %i in (1,1,3000) do @echo 0123456789012345678901234567890123456789";
    let finished = run_to_end(LaunchSpec { output_limit, ..spec(line, dir.path()) }).unwrap();
    assert_eq!(finished.status, Status::Exited(0));
    assert!(finished.stdout.to_text().len() < 4000, "{}", finished.stdout.to_text().len());
}

#[test]
fn a_command_is_ended_at_its_deadline_and_when_it_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let deadline = Deadline::After(Duration::from_millis(500));
    let finished = run_to_end(LaunchSpec { deadline, ..spec(FOREVER, dir.path()) }).unwrap();
    assert_eq!(finished.status, Status::TimedOut);
    let cancel = CancelToken::new();
    let canceller = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel();
    });
    let finished = run_with_output(spec(FOREVER, dir.path()), &cancel, &|_| {}).unwrap();
    thread.join().unwrap();
    assert_eq!(finished.status, Status::Halted);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn a_command_in_the_background_reads_its_input_and_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let streams = || Streams::Plain { stdin: Stdin::Pipe, output: Output::Merged };
    let shell = || LaunchSpec {
        argv: ["cmd", "/d", "/q"].map(OsString::from).to_vec(),
        streams: streams(),
        ..spec("", dir.path())
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
    let refused = start(LaunchSpec { streams, ..spec("exit", dir.path()) }).unwrap_err();
    assert_eq!(refused.to_string(), "PTY is not supported on Windows. Use background=true without pty.");
}

#[test]
fn a_program_is_found_along_the_path_and_no_batch_file_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tool.cmd"), "@exit").unwrap();
    let path = std::env::join_paths([dir.path(), cmd().parent().unwrap()]).unwrap();
    let found = find_program(OsStr::new("cmd"), &path, dir.path()).unwrap();
    assert_eq!(found.file_name().unwrap().to_ascii_lowercase(), "cmd.exe");
    assert_eq!(find_program(OsStr::new("tool"), &path, dir.path()).unwrap_err().exit_code(), 127);
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
    let confined = LaunchSpec {
        environment: windows_rules::variables(host(), user.path(), &[]),
        setup: cage.child_setup(work_dir, Vec::new()).unwrap(),
        ..spec("echo %APPDATA%& echo x> outside.txt& echo y> %TEMP%\\inside.txt", user.path())
    };
    match run_to_end(confined) {
        Ok(finished) => {
            let appdata = user.path().join("AppData").join("Roaming");
            assert_eq!(finished.stdout.to_text().trim(), appdata.to_str().unwrap());
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
