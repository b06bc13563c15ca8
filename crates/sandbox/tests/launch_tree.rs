//! Nothing survives, and nothing hangs: W38 to W43 and W71, with isolation off.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

mod launch_support;

use launch_support::{alive, marker, program, shell};
use picoclaw_sandbox::launch::{
    Background, Deadline, LaunchError, Output, State, Status, Stdin, Streams, run_to_end, start,
};
use picoclaw_testing::wait_until;
use std::time::{Duration, Instant};

#[test]
fn a_call_ends_within_its_deadline_and_leaves_nobody() {
    for (seed, why, line, want) in [
        (1, "endless output", "yes M", Status::TimedOut),
        (2, "endless zeroes", "cat /dev/zero # M", Status::TimedOut),
        (3, "endless errors", "cat /dev/zero >&2 # M", Status::TimedOut),
        (
            4,
            "a child that ends on nothing but SIGKILL",
            "trap '' TERM INT HUP; while :; do sleep M; done",
            Status::TimedOut,
        ),
        (5, "a child that left its session, and the shell waits", "setsid sleep M; :", Status::TimedOut),
        (6, "a child in another session holds the pipe", "setsid sleep M & echo hi", Status::Exited(0)),
        (7, "a plain background child holds the pipe", "sleep M & echo hi", Status::Exited(0)),
        (
            8,
            "a daemon, forked twice",
            "(setsid sh -c 'sleep M & sleep M & exit' &) ; echo hi",
            Status::Exited(0),
        ),
        (
            9,
            "a daemon that ignores SIGTERM",
            "(setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &); echo hi",
            Status::Exited(0),
        ),
        (10, "stopped children", "sleep M & kill -STOP $!; kill -STOP $$; sleep M", Status::TimedOut),
        (11, "closed pipes, still running", "exec >&- 2>&-; sleep M", Status::TimedOut),
        (12, "a tree three deep", "sh -c 'sh -c \"sleep M; :\"; :'; :", Status::TimedOut),
    ] {
        let marker = marker(seed);
        let mut spec = shell(&line.replace('M', &marker));
        // A process that is to end by itself gets the time for it, on a busy machine too.
        let deadline = Duration::from_millis(if want == Status::TimedOut { 400 } else { 20_000 });
        spec.deadline = Deadline::After(deadline);
        let began = Instant::now();
        let finished = run_to_end(spec).expect(why);
        assert!(began.elapsed() < deadline + Duration::from_secs(20), "{why}: took {:?}", began.elapsed());
        assert_eq!(finished.status, want, "{why}");
        assert_eq!(alive(&marker), 0, "{why}: somebody is left");
    }
}

#[test]
fn a_child_in_the_background_does_not_stall_and_is_killed_with_its_tree() {
    let marker = marker(30);
    let mut spec =
        shell(&format!("head -c 300000 /dev/zero >&2; echo out; setsid sleep {marker} & sleep {marker}; :"));
    spec.deadline = Deadline::None;
    spec.output_limit = Background::OUTPUT_LIMIT;
    let session = Background::start(spec).expect("a shell starts");
    let seen = std::cell::Cell::new(0);
    wait_until("300,000 bytes of errors do not hold the output up (W43)", || {
        seen.set(seen.get() + session.take_output().head.len());
        seen.get() == 300_004
    });
    wait_until("both children and their shell run", || alive(&marker) == 3);
    assert_eq!(session.state(), State::Running);
    assert_eq!(session.kill(), State::Ended(Status::Signaled(9)));
    assert_eq!(alive(&marker), 0);
}

#[test]
fn dropping_a_child_ends_it() {
    let marker = marker(40);
    let running =
        start(shell(&format!("setsid sleep {marker} & sleep {marker}; :"))).expect("a shell starts");
    wait_until("both children and their shell run", || alive(&marker) == 3);
    drop(running);
    assert_eq!(alive(&marker), 0);
}

#[test]
fn a_killed_or_stopped_supervisor_takes_its_tree_along() {
    for (seed, why, line) in [
        (50, "the child kills its supervisor", "setsid sleep M & kill -KILL $PPID; sleep M"),
        (51, "the child stops its supervisor", "setsid sleep M & kill -STOP $PPID; sleep M"),
    ] {
        let marker = marker(seed);
        let mut spec = shell(&line.replace('M', &marker));
        spec.deadline = Deadline::After(Duration::from_millis(300));
        let began = Instant::now();
        match run_to_end(spec) {
            Ok(finished) => {
                let status = finished.status;
                assert!(matches!(status, Status::TimedOut | Status::Signaled(9)), "{why}: {status:?}");
            }
            // Killed before it could say that the command runs.
            Err(error) => assert!(matches!(error, LaunchError::Vanished), "{why}: {error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{why}: took {:?}", began.elapsed());
        wait_until(why, || alive(&marker) == 0);
    }
}

#[test]
fn a_thread_that_ends_does_not_take_the_child_it_asked_for_along() {
    let begin = || {
        let mut spec = shell("read line; echo still here");
        spec.streams = Streams::Plain { stdin: Stdin::Pipe, output: Output::Merged };
        start(spec)
    };
    let running = std::thread::spawn(begin).join().expect("the thread ends");
    let mut running = running.expect("a shell starts");
    assert_eq!(running.poll(), None, "the child outlives the thread (W77)");
    drop(running.take_stdin());
    let finished = running.finish();
    assert_eq!(finished.stdout.to_text(), "still here\n");
}

#[test]
fn a_terminal_ends_when_its_last_user_does() {
    let mut spec = program("/bin/sh", &["sh", "-c", "tty >/dev/null && echo on a terminal"]);
    spec.streams = Streams::Pty(picoclaw_sandbox::launch::WindowSize::default());
    let finished = run_to_end(spec).expect("a shell starts");
    assert_eq!(
        (finished.status, finished.stdout.to_text().as_str()),
        (Status::Exited(0), "on a terminal\r\n")
    );
}

#[test]
fn input_is_fed_while_output_is_read() {
    let mut spec = shell("cat");
    let text = vec![b'x'; 3 << 20];
    spec.streams = Streams::Plain { stdin: Stdin::Bytes(text), output: Output::Merged };
    let stdout = run_to_end(spec).expect("a shell starts").stdout;
    assert_eq!(stdout.head.len() + stdout.tail.len(), 128 << 10);
    assert_eq!(stdout.omitted, (3 << 20) - (128 << 10));
}
