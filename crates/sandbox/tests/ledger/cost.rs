//! What an append costs. Run with `--release -- --ignored cost --nocapture`.
//!
//! Invariant: a call's two appends cost no more than 25 µs together on a tmpfs, syncing aside.

use crate::support::{allowed, in_memory};
use picoclaw_sandbox::ledger::Ledger;
use std::time::{Duration, Instant};

#[test]
#[ignore = "a measurement: it wants an optimised build and a quiet machine"]
fn the_cost_of_two_appends() {
    let home = in_memory();
    let decided = allowed("read /home/u/.picoclaw/workspace/notes.md");
    let finished = decided.clone().finished("ok", Duration::from_micros(31));

    let start = Instant::now();
    let ledger = Ledger::open(home.path()).unwrap();
    let opened = start.elapsed();
    ledger.append(std::slice::from_ref(&decided)).unwrap();
    let first = start.elapsed() - opened;

    let mut pairs: Vec<Duration> = (0..20_000)
        .map(|_| {
            let start = Instant::now();
            ledger.append(std::slice::from_ref(&decided)).unwrap();
            ledger.append(std::slice::from_ref(&finished)).unwrap();
            start.elapsed()
        })
        .collect();
    drop(ledger);
    pairs.sort_unstable();

    let mut again: Vec<(Duration, Duration, Duration)> = (0..50)
        .map(|_| {
            let start = Instant::now();
            let ledger = Ledger::open(home.path()).unwrap();
            let opened = start.elapsed();
            ledger.append(std::slice::from_ref(&decided)).unwrap();
            let one = start.elapsed() - opened;
            ledger.append(std::slice::from_ref(&finished)).unwrap();
            let two = start.elapsed() - opened - one;
            (opened, one, two)
        })
        .collect();
    again.sort_unstable();
    let (median, tail) = (pairs[pairs.len() / 2], pairs[pairs.len() * 99 / 100]);
    eprintln!("a new ledger: open {opened:?}, first append {first:?}");
    eprintln!("a one-shot command: open, first append, second append {:?}", again[again.len() / 2]);
    eprintln!("two appends: median {median:?}, 99 % within {tail:?}");
    assert!(median <= Duration::from_micros(25), "{median:?}");
}
