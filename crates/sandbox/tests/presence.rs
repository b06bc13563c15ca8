//! Which gateway runs: real processes, real locks, and whatever may lie where the PID file belongs.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "tests arrange files and processes by hand and stop where they cannot go on"
)]

use picoclaw_sandbox::presence::{GatewayLock, PresenceError, ProcessRegistry, Role, Stopped};
use picoclaw_sandbox::state_dir::StateError;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PID: &str = ".picoclaw.pid";

/// Set in a copy of this program that is to be a gateway there.
const AT: &str = "PICOCLAW_TEST_PRESENCE";

fn claim(home: &Path) -> Result<GatewayLock, PresenceError> {
    GatewayLock::acquire(home, "1.2.3", "127.0.0.1", 18790)
}

/// Another process that claims the place, says how that went, and stays until its input ends.
fn other(home: &Path, program: &Path) -> (Child, String) {
    let mut child = start(home, program);
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .lines()
        .map(Result::unwrap)
        .find(|line| line.contains("gateway"))
        .unwrap()
        .clone_into(&mut said);
    (child, said)
}

fn start(home: &Path, program: &Path) -> Child {
    Command::new(program)
        .args(["--ignored", "--exact", "being_a_gateway", "--nocapture"])
        .env(AT, home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn being_a_gateway() {
    let Some(home) = std::env::var_os(AT) else { return };
    let presence = claim(Path::new(&home));
    match &presence {
        Ok(_) => println!("\ngateway runs"),
        Err(why) => println!("\n{why}"),
    }
    let _ended = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn the_pid_file_is_private_whole_and_has_a_new_token_each_time() {
    let home = tempfile::tempdir().unwrap();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let presence = claim(home.path()).unwrap();
        let text = std::fs::read_to_string(home.path().join(PID)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["host", "pid", "port", "token", "version"]);
        assert_eq!(value["pid"], std::process::id());
        assert_eq!((&value["version"], &value["port"]), (&"1.2.3".into(), &18790.into()));
        let token = value["token"].as_str().unwrap().to_owned();
        assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{token}");
        let mode = std::fs::metadata(home.path().join(PID)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{presence:?}").contains(&token), "a token is not for logs");
        assert!(GatewayLock::is_running(home.path()));
        tokens.push(token);
        drop(presence);
        assert!(!home.path().join(PID).exists() && !GatewayLock::is_running(home.path()));
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[test]
fn whatever_was_left_behind_blocks_no_start_and_is_not_taken_for_running() {
    let own = std::process::id();
    let record = |pid: &str| format!(r#"{{"pid":{pid},"token":"t","version":"0.9","port":1,"host":"h"}}"#);
    for (why, text, pid) in [
        ("a container's PID 1, on a shared volume", record("1"), Some(1)),
        ("a number that somebody else has now", record(&own.to_string()), Some(own)),
        ("a number that nobody has", record("4194303"), Some(4_194_303)),
        ("number zero", record("0"), None),
        ("a negative number", record("-1"), None),
        ("a number that is none", record("99999999999"), None),
        ("garbage", "\0\u{1}not json".to_owned(), None),
        ("nothing", String::new(), None),
        ("another document", "[1]".to_owned(), None),
        ("far too much", format!("{{\"pid\":7,\"token\":\"{}\"}}", "x".repeat(1 << 20)), None),
        ("half a write", r#"{"pid":7,"tok"#.to_owned(), None),
    ] {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(PID), &text).unwrap();
        let read = GatewayLock::read_pid_file(home.path()).map(|recorded| recorded.pid);
        assert_eq!(read, pid, "{why}");
        assert!(!GatewayLock::is_running(home.path()), "{why}");
        assert_eq!(
            std::fs::read_to_string(home.path().join(PID)).unwrap(),
            text,
            "{why}: reading deletes nothing"
        );
        let presence = claim(home.path());
        assert!(presence.is_ok(), "{why}: {presence:?}");
        assert_eq!(GatewayLock::read_pid_file(home.path()).unwrap().pid, own, "{why}");
    }
}

#[test]
fn a_link_or_a_pipe_in_place_of_the_files_leads_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let victim = home.path().join("victim");
    std::fs::write(&victim, r#"{"pid":7}"#).unwrap();
    symlink(&victim, home.path().join(PID)).unwrap();
    assert_eq!(GatewayLock::read_pid_file(home.path()), None, "a link is not followed");
    drop(claim(home.path()).unwrap());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), r#"{"pid":7}"#, "nor written through");
    for name in [".picoclaw.lock", PID] {
        let home = tempfile::tempdir().unwrap();
        assert!(Command::new("mkfifo").arg(home.path().join(name)).status().unwrap().success());
        let began = Instant::now();
        assert_eq!(
            (GatewayLock::read_pid_file(home.path()), GatewayLock::is_running(home.path())),
            (None, false)
        );
        assert_eq!(claim(home.path()).is_ok(), name == PID, "a PID file is replaced, a lock is not");
        assert!(began.elapsed() < Duration::from_secs(5), "and nobody waits for a writer");
    }
    let home = tempfile::tempdir().unwrap();
    symlink("elsewhere", home.path().join(".picoclaw.lock")).unwrap();
    assert!(matches!(claim(home.path()), Err(PresenceError::State(StateError::NotAFile { .. }))));
    assert!(!home.path().join("elsewhere").exists());
}

#[test]
fn a_second_start_is_refused_by_name_whatever_the_binary_is_called() {
    let home = tempfile::tempdir().unwrap();
    let renamed = home.path().join("pc");
    // By another process: a child that another test forks meanwhile must not have the copy open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&renamed).status();
    assert!(copied.unwrap().success());
    let (mut first, said) = other(home.path(), &renamed);
    assert_eq!(said, "gateway runs");
    let before = std::fs::metadata(home.path().join(PID)).unwrap().ino();
    let refused = claim(home.path()).unwrap_err();
    let pid = first.id();
    assert_eq!(refused.to_string(), format!("gateway is already running (PID: {pid}, version: 1.2.3)"));
    assert_eq!(std::fs::metadata(home.path().join(PID)).unwrap().ino(), before, "its file is as it was");
    // The holder is what counts, also where its file says PID 1, as in a container, or nothing at all.
    std::fs::write(home.path().join(PID), r#"{"pid":1,"version":"1.2.3"}"#).unwrap();
    let refused = claim(home.path()).unwrap_err().to_string();
    assert_eq!(refused, "gateway is already running (PID: 1, version: 1.2.3)");
    std::fs::remove_file(home.path().join(PID)).unwrap();
    let refused = claim(home.path()).unwrap_err().to_string();
    assert_eq!(refused, "gateway is already running (PID: unknown, version: unknown)");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(claim(home.path()).is_ok(), "killed, it holds nothing");
}

#[test]
fn of_many_that_start_at_once_one_runs_and_the_file_is_its_own() {
    for _ in 0..3 {
        let home = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let mut children: Vec<Child> = (0..6).map(|_| start(home.path(), &program)).collect();
        let said: Vec<String> = children
            .iter_mut()
            .map(|child| {
                let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
                lines.map(Result::unwrap).find(|line| line.contains("gateway")).unwrap()
            })
            .collect();
        let winners: Vec<usize> = (0..6).filter(|at| said[*at] == "gateway runs").collect();
        assert_eq!(winners.len(), 1, "{said:?}");
        let recorded = GatewayLock::read_pid_file(home.path()).unwrap();
        assert_eq!(recorded.pid, children[winners[0]].id());
        for child in &mut children {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        assert!(!home.path().join(PID).exists(), "the losers took nothing away, the winner its own");
    }
}

#[test]
fn asking_whether_it_runs_delays_no_start() {
    let home = tempfile::tempdir().unwrap();
    drop(claim(home.path()).unwrap());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| (0..2000).filter(|_| GatewayLock::is_running(home.path())).count());
        for _ in 0..20 {
            let presence = claim(home.path());
            assert!(presence.is_ok(), "{presence:?}");
        }
        asking.join().unwrap();
    });
}

#[test]
fn only_its_own_file_is_removed_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let presence = claim(home.path()).unwrap();
    let foreign = format!(r#"{{"pid":{},"token":"another"}}"#, std::process::id());
    std::fs::write(home.path().join(PID), &foreign).unwrap();
    drop(presence);
    assert_eq!(std::fs::read_to_string(home.path().join(PID)).unwrap(), foreign);
}

#[test]
fn registered_processes_are_stopped_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let registry = ProcessRegistry::open(home.path()).unwrap();
    let registration = registry.register(Role::Agent).unwrap();
    assert!(registry.others().unwrap().is_empty(), "not oneself");
    let (mut child, said) = other(home.path(), &std::env::current_exe().unwrap());
    assert_eq!(said, "gateway runs");
    let running = home.path().join("state/running");
    // Entries without a lock: of a process that was killed, and of one whose PID was reused.
    let bystander = Command::new("sleep").arg("60").spawn().unwrap();
    std::fs::write(running.join(format!("agent-{}-1", bystander.id())), "").unwrap();
    std::fs::write(running.join("agent-1-1"), "").unwrap();
    let mut others = registry.others().unwrap();
    assert_eq!(
        others.iter().map(|one| (one.role, one.pid)).collect::<Vec<_>>(),
        [(Role::Gateway, child.id() as i32)]
    );
    let told = others.pop().unwrap();
    told.terminate().unwrap();
    assert_eq!(told.wait_or_kill(Instant::now() + Duration::from_secs(15)), Stopped::Ended);
    assert!(!child.wait().unwrap().success(), "by the signal");
    assert!(registry.others().unwrap().is_empty());
    // Held, but with another beginning: a number of another pid namespace. It is not signalled.
    let held = std::fs::File::create(running.join(format!("agent-{}-2", bystander.id()))).unwrap();
    held.try_lock().unwrap();
    let mut others = registry.others().unwrap();
    let foreign = others.pop().unwrap();
    assert_eq!(foreign.terminate(), Err(Stopped::OutOfReach));
    assert_eq!(foreign.wait_or_kill(Instant::now()), Stopped::OutOfReach);
    let mut bystander = bystander;
    assert!(bystander.try_wait().unwrap().is_none(), "still there");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    drop(registration);
    assert_eq!(std::fs::read_dir(&running).unwrap().count(), 1, "the one that is held by hand");
}

#[test]
fn programs_that_end_meanwhile_are_no_error() {
    let home = tempfile::tempdir().unwrap();
    let registry = ProcessRegistry::open(home.path()).unwrap();
    std::thread::scope(|scope| {
        let comes_and_goes = scope.spawn(|| {
            for _ in 0..3_000 {
                drop(registry.register(Role::Agent).unwrap());
            }
        });
        while !comes_and_goes.is_finished() {
            registry.others().unwrap();
        }
    });
}
