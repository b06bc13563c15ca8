//! Many cages leave nothing: at once and in a row. `PICOCLAW_SOAK=1` has 200 and 5,000; otherwise a tenth and a fiftieth. One
//! test, alone in its file, so that no other test's descriptors and children are counted.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

#[expect(dead_code, reason = "each test file uses a part of it")]
#[path = "cage/support.rs"]
mod support;

use picoclaw_sandbox::launch::{Background, Deadline, State, run_to_end};
use std::time::{Duration, Instant};
use support::{instance, wait_for_threads};

#[derive(Debug)]
struct Use {
    /// What each is open on.
    descriptors: Vec<String>,
    children: usize,
    mounts: usize,
    resident_kib: u64,
}

fn usage() -> Use {
    wait_for_threads();
    let open = std::fs::read_dir("/proc/self/fd").expect("it is there").flatten();
    let mut descriptors: Vec<String> = open
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .map(|path| path.display().to_string())
        .collect();
    descriptors.sort();
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
        descriptors,
        children: children.count(),
        mounts: std::fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count()),
        resident_kib: resident.expect("a number"),
    }
}

/// Whether each of `these` is among `known`, as often.
fn are_among(these: &[String], known: &[String]) -> bool {
    let count = |of: &[String], name: &String| of.iter().filter(|other| *other == name).count();
    these.iter().all(|name| count(these, name) <= count(known, name))
}

/// Compares until it is so: a thread that was just started has neither its name nor closed its descriptor yet. What was in
/// use before may have been on its way out.
fn nothing_is_left(before: &Use, most_kib: u64) {
    let until = Instant::now() + picoclaw_testing::PATIENCE;
    let after = loop {
        let after = usage();
        if are_among(&after.descriptors, &before.descriptors)
            && after.children <= before.children
            && after.mounts <= before.mounts
        {
            break after;
        }
        assert!(Instant::now() < until, "left: {before:?} {after:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(after.resident_kib < before.resident_kib + most_kib, "memory: {before:?} {after:?}");
}

fn at_once(place: &support::Instance, count: usize) {
    let confinement = place.cage();
    run_to_end(place.spec("true", confinement.clone())).expect("a shell starts");
    let crowd = || {
        std::thread::scope(|scope| {
            for number in 0..count {
                let confinement = confinement.clone();
                scope.spawn(move || {
                    let mut spec = place.spec(&format!("sleep 1; echo {number}"), confinement);
                    spec.deadline = Deadline::After(Duration::from_secs(100));
                    assert_eq!(
                        run_to_end(spec).expect("a shell starts").stdout.to_text(),
                        format!("{number}\n")
                    );
                });
            }
        });
    };
    // The C library keeps stacks and heaps of threads that have ended. That is no more after five crowds than after four; what
    // a single cage leaves is weighed in a row.
    (0..4).for_each(|_| crowd());
    let before = usage();
    crowd();
    nothing_is_left(&before, 16 << 10);
}

fn in_a_row(place: &support::Instance, count: usize) {
    let confinement = place.cage();
    (0..50).for_each(|_| drop(run_to_end(place.spec("true", confinement.clone())).expect("a shell starts")));
    let before = usage();
    for number in 0..count {
        let finished =
            run_to_end(place.spec(&format!("echo {number}"), confinement.clone())).expect("a shell starts");
        assert_eq!(finished.stdout.to_text(), format!("{number}\n"));
    }
    // Less than a kilobyte each, at the full count.
    nothing_is_left(&before, 4 << 10);
}

/// A session that has ended is kept for its output, and keeps neither the memory of its `/tmp` nor its network.
fn in_the_background(place: &support::Instance) {
    let on_tmpfs_or_proc = || {
        let open = std::fs::read_dir("/proc/self/fd").expect("it is there").flatten();
        let kinds = open.filter_map(|entry| rustix::fs::statfs(entry.path()).ok()).map(|fs| fs.f_type);
        kinds.filter(|kind| [0x0102_1994, 0x9fa0].contains(kind)).count()
    };
    wait_for_threads();
    let before = on_tmpfs_or_proc();
    let session = Background::start(place.spec("read line", place.cage())).expect("a shell starts");
    assert!(on_tmpfs_or_proc() > before, "the control: while it runs they are open");
    assert!(matches!(session.kill(), State::Ended(_)));
    picoclaw_testing::wait_until("neither is open", || on_tmpfs_or_proc() == before);
}

#[test]
fn many_cages_leave_nothing() {
    let soaks = std::env::var_os("PICOCLAW_SOAK").is_some();
    let place = instance();
    at_once(&place, if soaks { 200 } else { 20 });
    in_a_row(&place, if soaks { 5000 } else { 100 });
    in_the_background(&place);
}
