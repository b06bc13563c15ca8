//! How long a caged child lives, and how much it may use.

use crate::support::instance;
use picoclaw_policy::config::Network;
use picoclaw_sandbox::launch::{Background, Deadline, State, Status, Streams, WindowSize, run_to_end, start};
use picoclaw_testing::{PATIENCE, wait_until};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNNER: &str = "CAGE_TEST_RUNNER";

fn alive(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(marker)).count()
}

fn marker(seed: u32) -> String {
    format!("{}.{}", 200_000 + seed, std::process::id())
}

#[test]
fn a_caged_call_ends_within_its_deadline_and_leaves_nobody() {
    for (seed, why, line, want) in [
        (1, "endless output", "yes M", Status::TimedOut),
        (2, "ends on nothing but SIGKILL", "trap '' TERM; while :; do sleep M; done", Status::TimedOut),
        (3, "in a session of its own (W71)", "setsid sleep M & echo hi", Status::Exited(0)),
        (
            4,
            "forked twice, ignoring SIGTERM",
            "(setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &); echo hi",
            Status::Exited(0),
        ),
        (5, "stopped", "sleep M & kill -STOP $!; kill -STOP $$; sleep M", Status::TimedOut),
    ] {
        let (place, marker) = (instance(), marker(seed));
        let mut spec = place.spec(&line.replace('M', &marker), place.cage());
        // A process that is to end by itself gets the time for it, on a busy machine too.
        let deadline = Duration::from_millis(if want == Status::TimedOut { 400 } else { 20_000 });
        spec.deadline = Deadline::After(deadline);
        let began = Instant::now();
        assert_eq!(run_to_end(spec).expect(why).status, want, "{why}");
        assert!(began.elapsed() < deadline + Duration::from_secs(20), "{why}: took {:?}", began.elapsed());
        assert_eq!(alive(&marker), 0, "{why}: somebody is left");
    }
}

#[test]
fn sigterm_reaches_everybody_in_the_cage() {
    let place = instance();
    let line = "trap 'echo first; exit 3' TERM; (trap 'echo second; exit' TERM; setsid sh -c 'trap \"echo third\" TERM; \
        echo ready; sleep 60 & wait' & wait) & echo ready; wait; wait";
    let session = Background::start(place.spec(line, place.cage())).expect("a shell starts");
    let mut seen = String::new();
    wait_until("both are ready", || {
        seen.push_str(&session.take_output().to_text());
        seen.matches("ready").count() == 2
    });
    session.end();
    assert_eq!(session.wait(PATIENCE), State::Ended(Status::Exited(3)));
    seen.push_str(&session.take_output().to_text());
    for word in ["first", "second", "third"] {
        assert!(seen.contains(word), "no `{word}` in `{seen}`");
    }
}

/// Not a test of its own: the program that the test below kills.
#[test]
fn runner() {
    let Ok(line) = std::env::var(RUNNER) else { return };
    let place = instance();
    let mut spec = place.spec(&line, place.cage());
    spec.deadline = Deadline::None;
    let finished = run_to_end(spec).expect("a shell starts");
    unreachable!("the runner is killed before its child ends: {finished:?}");
}

#[test]
fn a_killed_runner_leaves_no_process_and_no_mount() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count());
    let before = mounts();
    // A runner that is killed removes none of its directories.
    let scratch = tempfile::tempdir().expect("a temporary directory");
    for (round, wait) in [0, 1, 2, 3, 5, 8, 13, 21, 34].into_iter().enumerate() {
        let marker = marker(100 + round as u32);
        let mut runner = Command::new(std::env::current_exe().expect("we are a file"))
            .args(["--exact", "life::runner", "--nocapture"])
            .env("TMPDIR", scratch.path())
            .env(RUNNER, format!("trap '' TERM; setsid sleep {marker} & sleep {marker}; sleep {marker}"))
            .stdout(Stdio::null())
            .spawn()
            .expect("the runner starts");
        // Killed at any moment: early ones while the cage is being built, later ones with children running.
        std::thread::sleep(Duration::from_millis(wait));
        runner.kill().expect("the runner is ours");
        runner.wait().expect("the runner ends");
        wait_until("nobody is left", || alive(&marker) == 0);
    }
    assert_eq!(mounts(), before);
}

#[test]
fn a_fork_bomb_a_memory_hog_and_a_disk_filler_end() {
    for (why, line, check) in [
        (
            "a fork bomb",
            "f() { f | f & }; f; sleep 2; echo survived",
            (|_, _| true) as fn(Status, &str) -> bool,
        ),
        (
            "too many processes",
            "i=0; while [ $i -lt 400 ]; do sleep 30 & i=$((i+1)); done; echo all",
            |_, text| !text.contains("all"),
        ),
        (
            "a memory hog",
            "perl -e '$x = \"x\" x (1<<20); push @a, \"$x$_\" for 1..600; print \"took it\"'",
            |_, text| !text.contains("took it"),
        ),
        (
            "many small memory hogs",
            "for i in 1 2 3 4 5 6; do perl -e '$x = \"x\" x (100<<20); sleep 30' & done; wait; echo all",
            |status, _| status == Status::OutOfMemory,
        ),
        (
            "a file too large",
            "head -c 200M /dev/zero > big; ls -s big | grep -qv 204800 && echo cut",
            |_, text| text.contains("cut"),
        ),
        (
            "a full /tmp",
            "for i in 1 2 3 4; do head -c 99M /dev/zero > /tmp/$i || echo full; done",
            |_, text| text.contains("full"),
        ),
    ] {
        let mut place = instance();
        place.isolation.limits.memory_mb = 256;
        place.isolation.limits.processes = 300;
        place.isolation.limits.file_size_mb = 100;
        let mut spec = place.spec(line, place.cage());
        spec.deadline = Deadline::After(Duration::from_secs(8));
        let began = Instant::now();
        let finished = run_to_end(spec).expect(why);
        assert!(began.elapsed() < Duration::from_secs(30), "{why}: took {:?}", began.elapsed());
        let text = finished.stdout.to_text();
        assert!(
            check(finished.status, &text),
            "{why}: {:?} `{text}` {}",
            finished.status,
            finished.stderr.to_text()
        );
    }
}

#[test]
fn no_thread_of_the_cage_is_a_real_time_one() {
    let limit = Rlimit { current: Some(10), maximum: Some(10) };
    if setrlimit(Resource::Rtprio, limit).is_err() {
        picoclaw_testing::skip!(
            "the limit on real-time priorities is 0, and raising it needs CAP_SYS_RESOURCE"
        );
        return;
    }
    let line = "grep -c 'realtime priority *0 *0' /proc/self/limits";
    let finished = instance().run(line).expect("it runs");
    assert_eq!(finished.stdout.to_text(), "1\n", "{}", finished.stderr.to_text());
}

#[test]
fn a_network_of_its_own_has_a_loopback() {
    let mut place = instance();
    let line = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; \
        IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die; print \"connected\"'";
    if Command::new("perl")
        .args(["-MIO::Socket::INET", "-e", "1"])
        .status()
        .is_ok_and(|status| status.success())
    {
        assert_eq!(place.run(line).expect("perl starts").stdout.to_text(), "connected");
    } else {
        picoclaw_testing::skip!("in part: perl is not here");
    }
    assert_eq!(place.run("grep -c : /proc/net/dev").expect("grep starts").stdout.to_text(), "1\n");
    place.isolation.network = Network::Host;
    let own = std::fs::read_to_string("/proc/net/dev").expect("it is there").matches(':').count();
    assert_eq!(
        place.run("grep -c : /proc/net/dev").expect("grep starts").stdout.to_text(),
        format!("{own}\n")
    );
}

/// The launcher may get no processor time before the command has ended.
#[test]
fn whether_a_host_was_missed_is_known_when_the_command_has_ended() {
    for (why, line, has_tried, was_refused) in [
        ("a host", "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'", true, false),
        ("the loopback", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'", false, true),
        ("nothing", "true", false, false),
    ] {
        let place = instance();
        let running = start(place.spec(line, place.cage())).expect("a shell starts");
        poll(&mut [PollFd::from_borrowed_fd(running.pidfd(), PollFlags::IN)], None).expect("it ends");
        let counters = running.take_net_counters();
        assert_eq!((counters.has_tried(), counters.was_refused()), (has_tried, was_refused), "{why}");
    }
}

#[test]
fn a_terminal_works_in_the_cage() {
    let place = instance();
    let mut spec = place.spec("stty size; test -t 0 && echo terminal; echo x > /dev/tty", place.cage());
    spec.streams = Streams::Pty(WindowSize { rows: 33, columns: 99 });
    assert_eq!(run_to_end(spec).expect("a shell starts").stdout.to_text(), "33 99\r\nterminal\r\nx\r\n");
}

#[test]
fn a_child_that_is_dropped_is_gone() {
    let (place, marker) = (instance(), marker(300));
    let running = start(place.spec(&format!("sleep {marker}; :"), place.cage())).expect("a shell starts");
    wait_until("it runs", || alive(&marker) >= 2);
    drop(running);
    assert_eq!(alive(&marker), 0);
}

#[test]
fn a_limit_that_the_kernel_shows_is_named() {
    use picoclaw_sandbox::launch::Limit;
    for (why, line, want) in [
        ("nothing", "true", None),
        ("an ordinary failure", "exit 3", None),
        ("processor time, of the command itself", "exec sh -c 'while :; do :; done'", Some(Limit::Processor)),
        (
            "processor time, of a shell's child",
            "sh -c 'while :; do :; done'; exit $?",
            Some(Limit::Processor),
        ),
        ("a file, of the command itself", "exec head -c 20M /dev/zero > big", Some(Limit::FileSize)),
        ("a file, of a shell's child", "head -c 20M /dev/zero > big; exit $?", Some(Limit::FileSize)),
    ] {
        let mut place = instance();
        place.isolation.limits.cpu_seconds = 1;
        place.isolation.limits.file_size_mb = 10;
        assert_eq!(place.run(line).expect(why).status.limit(), want, "{why}");
    }
}
