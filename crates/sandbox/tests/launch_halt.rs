//! A child that nobody wants any more ends at once, with everything it started.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the rooms"
)]

mod launch_support;

use launch_support::{alive, marker, program, shell, within_five_seconds};
use picoclaw_sandbox::launch::{CancelToken, Status, run_with_output};

#[test]
fn a_halt_ends_the_whole_tree_and_keeps_what_was_said() {
    let marker = marker(90);
    // The first line tells that the tree stands; hearing it is the event that halts.
    let line = format!("trap '' TERM; (setsid sleep {marker} &); echo up; sleep {marker}; sleep {marker}");
    let halt = CancelToken::new();
    let finished = run_with_output(shell(&line), &halt, &|_| halt.cancel()).expect("a shell starts");
    assert_eq!(finished.status, Status::Halted);
    assert_eq!(finished.stdout.to_text(), "up\n");
    within_five_seconds("nothing of the tree is left", || alive(&marker) == 0);
}

#[test]
fn a_halt_raised_before_the_start_is_heard_as_well() {
    let halt = CancelToken::new();
    halt.cancel();
    let finished =
        run_with_output(program("/bin/sleep", &["sleep", "9"]), &halt, &|_| {}).expect("sleep starts");
    assert_eq!(finished.status, Status::Halted);
}
