//! Many children at once leave no descriptor and no process. Alone in its file, so that no other test's are counted.

#![expect(clippy::expect_used, reason = "a test stops where it cannot go on")]

#[expect(dead_code, reason = "each test file uses a part of it")]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
#[path = "cage/support.rs"]
mod support;

use picoclaw_sandbox::isolate::Confinement;
use picoclaw_sandbox::launch::run_to_end;
use support::{instance, wait_for_threads};

#[test]
fn many_children_at_once_leave_nothing() {
    let place = instance();
    let descriptors = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    for (why, confinement) in [("without confinement", Confinement::None), ("in cages", place.cage())] {
        run_to_end(place.spec("true", confinement.clone())).expect(why);
        wait_for_threads();
        let before = descriptors();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..8 {
                        let spec =
                            place.spec(&format!("setsid sleep 1000 & echo {round}"), confinement.clone());
                        assert_eq!(
                            run_to_end(spec).expect(why).stdout.to_text(),
                            format!("{round}\n"),
                            "{why}"
                        );
                    }
                });
            }
        });
        wait_for_threads();
        // What belonged to the first child may have been there a moment longer.
        assert!(descriptors() <= before, "{why}");
    }
}
