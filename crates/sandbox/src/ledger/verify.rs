//! Checks a ledger for changes: read-only, without the lock, in bounded memory.
//!
//! A change is called intact only if every later record and `HEAD` were rewritten as well.

use super::chain::{ChainHead, Hash};
use super::chain_reader::{ChainReader, ChainStep};
use super::error::LedgerError;
use super::files::{Files, OpenMode, segment_name};
use super::head::{Head, HeadState};
use super::outside_head::{OutsideHead, behind};
use super::writer::BATCH;
use crate::boot_id::boot_id;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Every record is as it was written, and none is missing.
    Intact,
    /// The end was lost in a crash; nothing indicates a deliberate change.
    Torn,
    /// Something was changed.
    Tampered,
}

impl Integrity {
    /// The spelling in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Torn => "torn",
            Self::Tampered => "tampered",
        }
    }
}

/// The first thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line in it, from 1, where it is a line.
    pub line: Option<u64>,
    /// The number that the record has or should have.
    pub seq: Option<u64>,
    /// What does not fit.
    pub what: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub integrity: Integrity,
    /// How many records fit, from the first one on.
    pub records: u64,
    /// How many segments there are.
    pub segments: u64,
    /// The last record that fits.
    pub head: ChainHead,
    /// The first thing that does not.
    pub fault: Option<Fault>,
    /// The record that the anchor is the hash of.
    pub anchored: Option<u64>,
    /// The head that is kept outside the ledger.
    pub outside: OutsideState,
}

/// What is known of the head that is kept outside the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideState {
    /// There is none.
    Missing,
    /// It names this record.
    Record(u64),
}

impl OutsideState {
    fn of(head: &HeadState) -> Self {
        match head {
            HeadState::Head(kept) => Self::Record(kept.last.seq),
            HeadState::Empty | HeadState::Foreign => Self::Missing,
        }
    }
}

/// A hash that was kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// There is none: a chain that was rewritten as a whole looks like one that was not.
    Unknown,
    /// It must be the hash of one of the records.
    Known(Hash),
}

/// Checks the ledger in `dir` by itself.
pub fn verify(dir: &Path, anchor: Anchor) -> Result<Report, LedgerError> {
    verify_twice(dir, None, anchor)
}

/// Checks the ledger in `dir` whose head is also kept in the directory `state`.
pub fn verify_with_head(dir: &Path, state: &Path, anchor: Anchor) -> Result<Report, LedgerError> {
    verify_twice(dir, Some(state), anchor)
}

fn verify_twice(dir: &Path, state: Option<&Path>, anchor: Anchor) -> Result<Report, LedgerError> {
    let mut report = VerifyPass::over(dir, state, anchor)?;
    // Writers may append meanwhile. A fault counts once two passes agree.
    for _ in 0..8 {
        if report.integrity == Integrity::Intact {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        let again = VerifyPass::over(dir, state, anchor)?;
        if again == report {
            break;
        }
        report = again;
    }
    Ok(report)
}

/// The report on a ledger without records.
const EMPTY: Report = Report {
    integrity: Integrity::Intact,
    records: 0,
    segments: 0,
    head: ChainHead::NONE,
    fault: None,
    anchored: None,
    outside: OutsideState::Missing,
};

/// One pass over all segments.
struct VerifyPass {
    files: Files,
    head: Option<Head>,
    anchor: Anchor,
    report: Report,
    /// Whether the record that `HEAD` names is where it says.
    head_fits: bool,
    outside: HeadState,
    /// Whether the record that the head outside names is there.
    outside_fits: bool,
}

impl VerifyPass {
    fn over(dir: &Path, state: Option<&Path>, anchor: Anchor) -> Result<Report, LedgerError> {
        match Self::run(dir, state, anchor) {
            // A writer creates regular files only.
            Err(LedgerError::NotAFile { path }) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let fault = Some(fault(&name, "it is not a regular file"));
                Ok(Report { integrity: Integrity::Tampered, fault, ..EMPTY })
            }
            report => report,
        }
    }

    fn run(dir: &Path, state: Option<&Path>, anchor: Anchor) -> Result<Report, LedgerError> {
        // Before the ledger: it may be behind it, and never ahead.
        let outside = match state.map(OutsideHead::open).transpose()?.flatten() {
            Some(outside) => outside.read()?,
            None => HeadState::Empty,
        };
        let Some(files) = Files::open(dir)? else {
            let report = Report { outside: OutsideState::of(&outside), ..EMPTY };
            return Ok(check_anchor(anchor, check_outside(report, &outside, false)));
        };
        // `HEAD` before the segments: writers then only add records that it does not name yet.
        let found = read_head(&files)?;
        let listing = files.list()?;
        let segments = listing.numbers.len() as u64;
        let foreign = found == HeadState::Foreign;
        let head = if let HeadState::Head(head) = found { Some(head) } else { None };
        let head_fits = head.as_ref().is_some_and(|head| head.last == ChainHead::NONE && head.length == 0);
        let kept = head.as_ref().is_some_and(|head| head.kept);
        let is_kept_outside = state.is_some() && kept;
        let report = Report { segments, outside: OutsideState::of(&outside), ..EMPTY };
        let mut pass = Self { files, head, anchor, report, head_fits, outside, outside_fits: false };
        let mut fault = pass.segments(&listing.numbers)?;
        if let Some(name) = listing.foreign {
            fault = fault.or(Some(self::fault(&name, "it is not one of the ledger's segments")));
        }
        if foreign {
            fault = fault.or(Some(self::fault("HEAD", "it is not a valid head of a ledger")));
        }
        if let Some(fault) = fault {
            pass.report.integrity = Integrity::Tampered;
            pass.report.fault = Some(fault);
        } else if pass.report.integrity == Integrity::Intact {
            pass.compare_with_head()?;
        }
        let Self { report, outside, outside_fits, .. } = pass;
        let mut report = check_outside(report, &outside, outside_fits);
        if is_kept_outside && outside == HeadState::Empty && report.integrity != Integrity::Tampered {
            report.integrity = Integrity::Tampered;
            report.fault = Some(self::fault("state/ledger-head", "it is not there"));
        }
        Ok(check_anchor(anchor, report))
    }

    /// Reads all segments and returns the first sign of a change. A torn end is noted in the
    /// report.
    fn segments(&mut self, numbers: &[u64]) -> Result<Option<Fault>, LedgerError> {
        for (expected, number) in (1..).zip(numbers.iter().copied()) {
            if number != expected {
                return Ok(Some(fault(&segment_name(expected), "the segment is not there")));
            }
            let last = expected == numbers.len() as u64;
            if let Some(fault) = self.segment(number)? {
                if !last || !self.may_be_torn(&fault) {
                    return Ok(Some(fault));
                }
                self.report.integrity = Integrity::Torn;
                self.report.fault = Some(fault);
            }
        }
        Ok(None)
    }

    fn segment(&mut self, number: u64) -> Result<Option<Fault>, LedgerError> {
        let path = self.files.segment_path(number);
        let Some(file) = self.files.segment(number, OpenMode::Read)? else {
            return Ok(Some(fault(&segment_name(number), "the segment is not there")));
        };
        let mut reader =
            ChainReader::new(BufReader::with_capacity(64 << 10, file), 0, Some(self.report.head));
        loop {
            let (what, seq) = match reader.step().map_err(LedgerError::io("read", &path))? {
                ChainStep::End => return Ok(None),
                // A writer names a segment in `HEAD` before it writes there.
                ChainStep::Record(last) if self.head.as_ref().is_some_and(|head| number > head.segment) => {
                    ("no writer made this segment", Some(last.seq))
                }
                ChainStep::Record(last) => {
                    self.note(last, number, reader.end);
                    continue;
                }
                ChainStep::Unfinished => (UNFINISHED, Some(self.report.head.seq + 1)),
                ChainStep::Bad { why, seq } => (why, seq),
            };
            let line = Some(reader.line);
            return Ok(Some(Fault { file: segment_name(number), line, seq, what: what.to_owned() }));
        }
    }

    fn note(&mut self, last: ChainHead, segment: u64, end: u64) {
        self.report.head = last;
        self.report.records += 1;
        self.outside_fits |= matches!(&self.outside, HeadState::Head(kept) if kept.last == last);
        if Anchor::Known(last.hash) == self.anchor {
            self.report.anchored = Some(last.seq);
        }
        if let Some(head) = &self.head {
            let named = head.last == last && head.segment == segment && head.length == end;
            // A new segment that is still empty: `HEAD` names it, and the last record of the one
            // before.
            let turned = head.last == last && head.segment == segment + 1 && head.length == 0;
            self.head_fits |= named || turned;
        }
    }

    /// Whether a crash explains that the last segment ends in `fault`.
    fn may_be_torn(&self, fault: &Fault) -> bool {
        let Some(head) = &self.head else { return false };
        let seq = self.report.head.seq;
        let after_kill = fault.what == UNFINISHED && self.head_fits && seq >= head.last.seq;
        after_kill || self.lost_to_a_power_cut(head)
    }

    /// Whether everything that is missing or spoiled had not been synced when the machine went
    /// down.
    fn lost_to_a_power_cut(&self, head: &Head) -> bool {
        head.boot != boot_id() && self.report.head.seq >= head.synced
    }

    /// Compares the end of an unbroken chain with `HEAD`.
    fn compare_with_head(&mut self) -> Result<(), LedgerError> {
        let seq = self.report.head.seq;
        let Some(head) = &self.head else {
            // Files that were created and never used are no ledger yet.
            if seq > 0 {
                self.tampered("it is not there");
            }
            return Ok(());
        };
        if seq < head.last.seq {
            let what = format!("it names record {}, and the last one there is {seq}", head.last.seq);
            let torn = self.lost_to_a_power_cut(head);
            self.tampered(&what);
            if torn {
                self.report.integrity = Integrity::Torn;
            }
            return Ok(());
        }
        if !self.head_fits {
            self.tampered("it does not name the record that is there");
            return Ok(());
        }
        // Only now: had it moved on before, the records above would have been more as well.
        let behind = match read_head(&self.files)? {
            HeadState::Head(latest) if latest.boot == boot_id() => seq.saturating_sub(latest.last.seq),
            _ => 0,
        };
        if behind > BATCH as u64 {
            self.tampered(&format!("it is {behind} records behind"));
        }
        Ok(())
    }

    fn tampered(&mut self, what: &str) {
        self.report.integrity = Integrity::Tampered;
        self.report.fault = Some(fault("HEAD", what));
    }
}

const UNFINISHED: &str = "the last line is unfinished";

fn fault(file: &str, what: &str) -> Fault {
    Fault { file: file.to_owned(), line: None, seq: None, what: what.to_owned() }
}

/// A ledger that lacks the record in the head outside was emptied, rolled back or replaced.
fn check_outside(report: Report, outside: &HeadState, fits: bool) -> Report {
    let what = match outside {
        HeadState::Empty => return report,
        HeadState::Foreign => "it is not a valid head of a ledger".to_owned(),
        HeadState::Head(kept) if kept.last.seq == 0 || fits => return report,
        HeadState::Head(kept) if kept.last.seq > report.head.seq => behind(kept.last.seq, report.head.seq),
        HeadState::Head(kept) => format!("record {} is not the one that was written", kept.last.seq),
    };
    match report.integrity {
        Integrity::Tampered => report,
        _ => Report {
            integrity: Integrity::Tampered,
            fault: Some(fault("state/ledger-head", &what)),
            ..report
        },
    }
}

/// A chain that was rewritten as a whole fits; only a hash that was kept elsewhere is not in it.
fn check_anchor(anchor: Anchor, report: Report) -> Report {
    match anchor {
        Anchor::Known(anchor) if report.anchored.is_none() && report.integrity != Integrity::Tampered => {
            let what = format!("no record has the hash {anchor}");
            Report { integrity: Integrity::Tampered, fault: Some(fault("anchor", &what)), ..report }
        }
        _ => report,
    }
}

/// The state of `HEAD`; a missing one is empty.
fn read_head(files: &Files) -> Result<HeadState, LedgerError> {
    match files.head(OpenMode::Read)? {
        None => Ok(HeadState::Empty),
        Some(file) => HeadState::read_unlocked(&file).map_err(LedgerError::io("read", files.head_path())),
    }
}
