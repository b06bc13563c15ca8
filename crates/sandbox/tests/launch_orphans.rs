//! When picoclaw itself is killed, nothing of its children stays.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

mod launch_support;

use launch_support::{alive, marker, shell};
use picoclaw_sandbox::launch::{Deadline, run_to_end};
use picoclaw_testing::wait_until;
use std::process::{Command, Stdio};

const RUNNER: &str = "LAUNCH_TEST_RUNNER";

/// Not a test of its own: the program that the test below kills.
#[test]
fn runner() {
    let Ok(line) = std::env::var(RUNNER) else { return };
    let mut spec = shell(&line);
    spec.deadline = Deadline::None;
    let finished = run_to_end(spec).expect("a shell starts");
    unreachable!("the runner is killed before its child ends: {finished:?}");
}

#[test]
fn a_killed_picoclaw_leaves_nobody() {
    for (seed, why, line) in [
        (80, "a plain child", "sleep M; :"),
        (
            81,
            "one in another session, one forked twice",
            "setsid sleep M & (setsid sh -c 'sleep M &' &); sleep M",
        ),
        (
            82,
            "one that ignores what it can",
            "trap '' TERM HUP INT; (trap '' TERM; setsid sleep M &) ; sleep M; sleep M",
        ),
    ] {
        let marker = marker(seed);
        let mut runner = Command::new(std::env::current_exe().expect("we are a file"))
            .args(["--exact", "runner", "--nocapture"])
            .env(RUNNER, line.replace('M', &marker))
            .stdout(Stdio::null())
            .spawn()
            .expect("the runner starts");
        let sleepers = if seed == 81 { 3 } else { 1 };
        wait_until(why, || alive(&format!("sleep {marker}")) > sleepers);
        runner.kill().expect("the runner is ours");
        runner.wait().expect("the runner ends");
        wait_until(why, || alive(&marker) == 0);
    }
}
