//! A cancelled child ends at once, with everything it started.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

mod launch_support;

use launch_support::{alive, marker, program, shell};
use picoclaw_sandbox::launch::{CancelToken, Status, run_with_output};
use picoclaw_testing::wait_until;

#[test]
fn cancelling_ends_the_whole_tree_and_keeps_its_output() {
    let marker = marker(90);
    // The first line tells that the tree stands; hearing it is the event that cancels it.
    let line = format!("trap '' TERM; (setsid sleep {marker} &); echo up; sleep {marker}; sleep {marker}");
    let cancel = CancelToken::new();
    let finished = run_with_output(shell(&line), &cancel, &|_| cancel.cancel()).expect("a shell starts");
    assert_eq!(finished.status, Status::Halted);
    assert_eq!(finished.stdout.to_text(), "up\n");
    wait_until("nothing of the tree is left", || alive(&marker) == 0);
}

#[test]
fn a_token_cancelled_before_the_start_is_noticed() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let finished =
        run_with_output(program("/bin/sleep", &["sleep", "9"]), &cancel, &|_| {}).expect("sleep starts");
    assert_eq!(finished.status, Status::Halted);
}
