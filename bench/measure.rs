//! Taking turns: contestants run one after the other, again and again, each for a moment.
//!
//! A turn is short beside the scheduler's slices, so that most turns are not interrupted and the median does not see
//! those that are. Ratios and differences are taken turn by turn, never between two averages.
//!
//! Invariant: every contestant has the same number of turns, and in no two rounds in a row the same one goes first.

use super::Stop;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::time::Duration;

/// One thing to be timed.
pub(crate) type Contestant<'c> = &'c mut dyn FnMut() -> Result<(), Stop>;

/// How long one turn should take: long beside the clock, short beside a scheduler's slice.
const TURN: Duration = Duration::from_micros(150);

/// Which time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// What a person waits for.
    Wall,
    /// What this thread worked: for what waits for nothing, so that a busy machine does not count.
    Processor,
}

impl Clock {
    /// Nanoseconds since some moment.
    pub(crate) fn now(self) -> f64 {
        let which = match self {
            Self::Wall => ClockId::Monotonic,
            Self::Processor => ClockId::ThreadCPUTime,
        };
        let now = clock_gettime(which);
        now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
    }
}

/// Figures of one kind, one for each round.
#[derive(Debug, Clone)]
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn new(figures: Vec<f64>) -> Self {
        Self(figures)
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// `self / other`, round by round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| own / other).collect())
    }

    /// `self - other`, round by round.
    pub(crate) fn less(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| own - other).collect())
    }

    /// As nanoseconds.
    pub(crate) fn time(&self) -> Shown<'_> {
        Shown { figures: self, unit: Unit::Time }
    }

    /// As ratios.
    pub(crate) fn times(&self) -> Shown<'_> {
        Shown { figures: self, unit: Unit::Times }
    }

    fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Time,
    Times,
}

/// Figures with their noise: median, tenth and ninetieth percentile.
pub(crate) struct Shown<'f> {
    figures: &'f Figures,
    unit: Unit,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |value: f64| match self.unit {
            Unit::Time => time(value),
            Unit::Times => format!("{value:.2}×"),
        };
        let at = |share| one(self.figures.at(share));
        write!(f, "{} [{} … {}]", at(0.5), at(0.1), at(0.9))
    }
}

/// Nanoseconds for people.
pub(crate) fn time(nanoseconds: f64) -> String {
    match nanoseconds.abs() {
        short if short < 999.5 => format!("{nanoseconds:.0} ns"),
        short if short < 999_500.0 => format!("{:.1} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

/// Lets every contestant take `rounds` turns; answers nanoseconds for each single run.
pub(crate) fn take_turns(
    clock: Clock,
    rounds: usize,
    contestants: &mut [Contestant<'_>],
) -> Result<Vec<Figures>, Stop> {
    let mut runs = Vec::new();
    for contestant in contestants.iter_mut() {
        runs.push(runs_in_a_turn(clock, contestant)?);
    }
    let mut figures = vec![Vec::with_capacity(rounds); contestants.len()];
    for round in 0..rounds {
        for step in 0..contestants.len() {
            let who = (round + step) % contestants.len();
            figures[who].push(turn(clock, &mut contestants[who], runs[who])?);
        }
    }
    Ok(figures.into_iter().map(Figures).collect())
}

/// One contestant alone.
pub(crate) fn alone(clock: Clock, rounds: usize, contestant: Contestant<'_>) -> Result<Figures, Stop> {
    take_turns(clock, rounds, &mut [contestant]).map(|mut figures| figures.swap_remove(0))
}

fn runs_in_a_turn(clock: Clock, contestant: &mut Contestant<'_>) -> Result<u32, Stop> {
    let mut runs = 1;
    loop {
        // Twice, since one interrupted try would make all turns too short.
        let took = turn(clock, contestant, runs)?.min(turn(clock, contestant, runs)?) * f64::from(runs);
        if took >= TURN.as_nanos() as f64 / 2.0 {
            return Ok(runs);
        }
        runs *= 2;
    }
}

fn turn(clock: Clock, contestant: &mut Contestant<'_>, runs: u32) -> Result<f64, Stop> {
    let start = clock.now();
    for _ in 0..runs {
        contestant()?;
    }
    Ok((clock.now() - start) / f64::from(runs))
}
