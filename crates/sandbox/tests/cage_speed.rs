//! How much a cage costs: direct, bubblewrap and native, in turns, with their medians. Run by hand:
//! `cargo test --release -p picoclaw-sandbox --test cage_speed -- --ignored --nocapture`.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test stops where it cannot go on, and looks at the host from outside the rooms"
)]

#[expect(dead_code, reason = "each test file uses a part of it")]
mod cage_support;

use cage_support::instance;
use picoclaw_policy::config::Network;
use picoclaw_sandbox::launch::{Walls, run_to_end};
use std::process::Command;
use std::time::{Duration, Instant};

const MINIMAL: &str = "--unshare-all --share-net --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin \
    --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp -- /bin/true";

type Way<'w> = (&'static str, Box<dyn Fn() + 'w>);

#[test]
#[ignore = "a measurement, not a promise"]
fn a_caged_command_costs_less_than_one_in_bubblewrap() {
    let mut place = instance();
    let lonely = place.cage();
    place.isolation.network = Network::Host;
    let cage = place.cage();
    let bare = |walls: &Walls| {
        let mut spec = place.spec("", walls.clone());
        (spec.program, spec.argv) = ("/bin/true".into(), vec!["true".into()]);
        run_to_end(spec).expect("true starts");
    };
    let bwrap = |arguments: &str| {
        let status = Command::new("/usr/bin/bwrap").args(arguments.split_whitespace()).status();
        assert!(status.expect("bwrap starts").success());
    };
    let mut ways: Vec<Way<'_>> = vec![
        ("direct", Box::new(|| drop(Command::new("/bin/true").status()))),
        ("launch, open", Box::new(|| bare(&Walls::Open))),
        ("bwrap minimal", Box::new(|| bwrap(MINIMAL))),
        ("bwrap minimal, no network", Box::new(|| bwrap(&MINIMAL.replace("--share-net", "")))),
        ("native", Box::new(|| bare(&cage))),
        ("native, no network", Box::new(|| bare(&lonely))),
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
    for _ in 0..200 {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let began = Instant::now();
            way.1();
            times.push(began.elapsed());
        }
    }
    let mut direct = 0.0;
    for ((name, _), times) in ways.iter().zip(&mut times) {
        times.sort();
        let micros = |at: usize| times[at].as_secs_f64() * 1e6;
        if direct == 0.0 {
            direct = micros(100);
        }
        eprintln!(
            "{name:28} median {:7.0} µs  min {:6.0}  p10 {:7.0}  p90 {:7.0}  {:5.2}x direct",
            micros(100),
            micros(0),
            micros(20),
            micros(180),
            micros(100) / direct
        );
    }
}
