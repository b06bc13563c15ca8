//! Many cages: at once and in a row. Run by hand, or by `make soak`:
//! `cargo test --release -p picoclaw-sandbox --test cage_soak -- --ignored --test-threads 1`.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the rooms"
)]

#[expect(dead_code, reason = "each test file uses a part of it")]
mod cage_support;

use cage_support::instance;
use picoclaw_sandbox::launch::{Deadline, run_to_end, wait_for_keepers};
use std::time::Duration;

#[derive(Debug)]
struct Use {
    descriptors: usize,
    children: usize,
    mounts: usize,
    resident_kib: u64,
}

fn usage() -> Use {
    wait_for_keepers();
    let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    let own = std::process::id().to_string();
    let is_child = |stat: &str| {
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(own.as_str())
    };
    let stats = std::fs::read_dir("/proc").expect("it is there").flatten();
    let children = stats
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| is_child(stat));
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let resident =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    Use {
        descriptors: count("/proc/self/fd"),
        children: children.count(),
        mounts: std::fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count()),
        resident_kib: resident.expect("a number"),
    }
}

fn nothing_is_left(before: &Use, after: &Use) {
    assert_eq!(
        (after.descriptors, after.children, after.mounts),
        (before.descriptors, before.children, before.mounts)
    );
    assert!(after.resident_kib < before.resident_kib + 4096, "memory: {before:?} {after:?}");
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_cages_at_once() {
    let place = instance();
    let walls = place.cage();
    run_to_end(place.spec("true", walls.clone())).expect("a shell starts");
    let crowd = || {
        std::thread::scope(|scope| {
            for number in 0..200 {
                let (place, walls) = (&place, walls.clone());
                scope.spawn(move || {
                    let mut spec = place.spec(&format!("sleep 1; echo {number}"), walls);
                    spec.deadline = Deadline::After(Duration::from_secs(100));
                    assert_eq!(
                        run_to_end(spec).expect("a shell starts").stdout.to_text(),
                        format!("{number}\n")
                    );
                });
            }
        });
    };
    // What the first crowd leaves in the allocator's arenas, the second uses again; a leak would grow.
    crowd();
    let before = usage();
    crowd();
    nothing_is_left(&before, &usage());
}

#[test]
#[ignore = "takes minutes"]
fn five_thousand_cages_in_a_row() {
    let place = instance();
    let walls = place.cage();
    (0..50).for_each(|_| drop(run_to_end(place.spec("true", walls.clone())).expect("a shell starts")));
    let before = usage();
    for number in 0..5000 {
        let finished =
            run_to_end(place.spec(&format!("echo {number}"), walls.clone())).expect("a shell starts");
        assert_eq!(finished.stdout.to_text(), format!("{number}\n"));
    }
    nothing_is_left(&before, &usage());
}
