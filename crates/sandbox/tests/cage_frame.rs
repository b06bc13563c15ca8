//! A cage on a frame that is kept, and one that is built whole: the child cannot tell them apart.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the rooms"
)]

#[expect(dead_code, reason = "each test file uses a part of it")]
mod cage_support;

use cage_support::{Instance, instance};
use picoclaw_policy::config::{Expose, ExposeMode};
use picoclaw_sandbox::isolate::{Cage, Rung};
use picoclaw_sandbox::launch::{Walls, run_to_end};
use std::sync::Arc;

fn whole(place: &Instance) -> Walls {
    Walls::Cage(Arc::new(Cage::new(place.plan().expect("a plan"), Rung::Native).expect("a cage")))
}

fn said(place: &Instance, line: &str, walls: Walls) -> String {
    let finished = run_to_end(place.spec(line, walls)).expect("a shell starts");
    assert_eq!(finished.stderr.to_text(), "", "{line}");
    finished.stdout.to_text()
}

/// Everything but what the kernel and the system's programs show: kind, mode, owner, where a link leads, what a file holds.
const LOOK: &str = "find / \\( -path /proc -o -path /usr -o -path /etc/ssl/certs \\) -prune -o -printf '%y %m %U:%G %p %l\\n' | sort; \
    md5sum /etc/passwd /etc/group /etc/ld.so.cache | sort; \
    for at in / /etc /dev /run /home /tmp /dev/shm; do [ -d $at ] && { touch $at/probe 2>/dev/null && echo writable $at; }; done; \
    rm -f /tmp/probe /dev/shm/probe; stat -f -c %S /tmp";

#[test]
fn a_child_sees_the_same_on_a_frame_and_without_one() {
    for (why, expose) in [
        ("the default view", vec![]),
        ("beneath a directory that every cage has", vec![("outside", "/etc/picoclaw-test/deep")]),
        ("a file at the top", vec![("outside/victim", "/victim")]),
        ("a directory of its own at the top", vec![("outside", "/srv/a/b"), ("outside/victim", "/srv/a/c")]),
        ("side by side", vec![("outside", "/opt/x"), ("home/.picoclaw/skills", "/opt/y")]),
        ("in a private directory", vec![("outside", "/tmp/deep/er")]),
    ] {
        let mut place = instance();
        place.isolation.expose_paths = expose
            .into_iter()
            .map(|(source, target)| Expose {
                source: place.base.join(source),
                target: target.into(),
                mode: ExposeMode::ReadOnly,
            })
            .collect();
        let (framed, alone) = (said(&place, LOOK, place.cage()), said(&place, LOOK, whole(&place)));
        assert_eq!(framed, alone, "{why}");
        assert!(alone.contains("writable /tmp") && !alone.contains("writable /etc"), "{why}: {alone}");
        let again = said(&place, LOOK, place.cage());
        assert_eq!(again, framed, "{why}: the second child");
        let first = said(&place, "head -n 1 /proc/self/mountinfo", place.cage());
        assert!(first.contains("/cache/cages/"), "{why}: on a frame: {first}");
        let first = said(&place, "head -n 1 /proc/self/mountinfo", whole(&place));
        assert!(!first.contains("/cache/cages/"), "{why}: without one: {first}");
    }
}

/// Takes something from a frame, as whoever cleans caches does.
type Spoil = fn(&std::path::Path);

#[test]
fn a_frame_that_somebody_cleaned_away_is_made_anew() {
    let spoils: [(&str, Spoil); 6] = [
        ("everything", |cages| std::fs::remove_dir_all(cages.parent().expect("a cache")).expect("gone")),
        ("all frames", |cages| std::fs::remove_dir_all(cages).expect("gone")),
        ("a device", |cages| std::fs::remove_file(tree(cages).join("dev/null")).expect("gone")),
        ("a file", |cages| std::fs::remove_file(tree(cages).join("etc/passwd")).expect("gone")),
        ("a link", |cages| std::fs::remove_file(tree(cages).join("dev/fd")).expect("gone")),
        ("a directory", |cages| std::fs::remove_dir_all(tree(cages).join("etc")).expect("gone")),
    ];
    for (why, spoil) in spoils {
        let place = instance();
        let cages = place.root.join("cache/cages");
        // One cage for all, as a server has it, and a new one, as each `picoclaw run` has it.
        let kept = place.cage();
        let before = said(&place, LOOK, kept.clone());
        spoil(&cages);
        assert_eq!(said(&place, LOOK, kept), before, "{why}: the same cage again");
        spoil_again(&place, spoil);
        assert_eq!(said(&place, LOOK, place.cage()), before, "{why}: another cage");
    }
}

/// The same once more, if there is a frame now.
fn spoil_again(place: &Instance, spoil: Spoil) {
    std::fs::create_dir_all(place.root.join("cache")).expect("a cache");
    said(place, "true", place.cage());
    spoil(&place.root.join("cache/cages"));
}

/// The one frame's tree.
fn tree(cages: &std::path::Path) -> std::path::PathBuf {
    let mut all =
        std::fs::read_dir(cages).expect("frames").map(|entry| entry.expect("one").path().join("tree"));
    all.find(|path| path.exists()).expect("a frame")
}
