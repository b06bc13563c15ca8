//! Is this ledger what was written? Read-only, without the lock, in bounded memory.
//!
//! Invariant: a change that is not followed by rewriting every later record and `HEAD` is never called intact.

use super::boot;
use super::chain::{Hash, Tip};
use super::error::LedgerError;
use super::files::{Files, Use, segment_name};
use super::head::{Head, SIZE};
use super::walk::{Step, Walk};
use super::writer::BATCH;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

/// What the ledger turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Every record is as it was written, and none is missing.
    Intact,
    /// The end was lost to a sudden stop; nothing points to a hand.
    Torn,
    /// Somebody changed something.
    Tampered,
}

impl Standing {
    /// The word for it.
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
    pub standing: Standing,
    /// How many records fit, from the first one on.
    pub records: u64,
    /// How many segments there are.
    pub segments: u64,
    /// The last record that fits.
    pub head: Tip,
    /// The first thing that does not.
    pub fault: Option<Fault>,
    /// The record that the anchor is the hash of.
    pub anchored: Option<u64>,
}

/// Checks the ledger in `dir`; a given `anchor` must be the hash of one of its records.
pub fn verify(dir: &Path, anchor: Option<Hash>) -> Result<Report, LedgerError> {
    let mut report = Pass::over(dir, anchor)?;
    // Writers go on while we read. What still does not fit when nothing moves any more is what it is.
    for _ in 0..8 {
        if report.standing == Standing::Intact {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        let again = Pass::over(dir, anchor)?;
        if again == report {
            break;
        }
        report = again;
    }
    Ok(report)
}

/// What is found in a ledger without records.
const EMPTY: Report = Report {
    standing: Standing::Intact,
    records: 0,
    segments: 0,
    head: Tip::NONE,
    fault: None,
    anchored: None,
};

/// One pass over all segments.
struct Pass {
    files: Files,
    head: Option<Head>,
    anchor: Option<Hash>,
    report: Report,
    /// Whether the record that `HEAD` names is where it says.
    head_fits: bool,
}

impl Pass {
    fn over(dir: &Path, anchor: Option<Hash>) -> Result<Report, LedgerError> {
        match Self::walk(dir, anchor) {
            // A writer makes regular files and nothing else.
            Err(LedgerError::NotAFile { path }) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let fault = Some(fault(&name, "it is not a regular file"));
                Ok(Report { standing: Standing::Tampered, fault, ..EMPTY })
            }
            report => report,
        }
    }

    fn walk(dir: &Path, anchor: Option<Hash>) -> Result<Report, LedgerError> {
        let Some(files) = Files::open(dir)? else { return Ok(look_for_anchor(anchor, EMPTY)) };
        // `HEAD` before the segments: writers then only add what it does not know yet.
        let head = read_head(&files)?;
        let listing = files.list()?;
        let segments = listing.numbers.len() as u64;
        let head_fits = matches!(&head, Some(Some(head)) if head.tip == Tip::NONE && head.length == 0);
        let head_lost = matches!(&head, Some(None));
        let mut pass =
            Self { files, head: head.flatten(), anchor, report: Report { segments, ..EMPTY }, head_fits };
        let mut fault = pass.segments(&listing.numbers)?;
        if let Some(name) = listing.foreign {
            fault = fault.or(Some(self::fault(&name, "it is not one of the ledger's segments")));
        }
        if head_lost {
            fault = fault.or(Some(self::fault("HEAD", "its contents are not ours")));
        }
        if let Some(fault) = fault {
            pass.report.standing = Standing::Tampered;
            pass.report.fault = Some(fault);
        } else if pass.report.standing == Standing::Intact {
            pass.against_head()?;
        }
        Ok(look_for_anchor(anchor, pass.report))
    }

    /// Walks all segments; answers what points to a hand. A torn end is noted in the report.
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
                self.report.standing = Standing::Torn;
                self.report.fault = Some(fault);
            }
        }
        Ok(None)
    }

    fn segment(&mut self, number: u64) -> Result<Option<Fault>, LedgerError> {
        let path = self.files.segment_path(number);
        let Some(file) = self.files.segment(number, Use::Read)? else {
            return Ok(Some(fault(&segment_name(number), "the segment is not there")));
        };
        let mut walk = Walk::new(BufReader::with_capacity(64 << 10, file), 0, Some(self.report.head));
        loop {
            let (what, seq) = match walk.step().map_err(LedgerError::io("read", &path))? {
                Step::End => return Ok(None),
                Step::Record(tip) => {
                    self.note(tip, number, walk.end);
                    continue;
                }
                Step::Unfinished => (UNFINISHED, Some(self.report.head.seq + 1)),
                Step::Bad { why, seq } => (why, seq),
            };
            let line = Some(walk.line);
            return Ok(Some(Fault { file: segment_name(number), line, seq, what: what.to_owned() }));
        }
    }

    fn note(&mut self, tip: Tip, segment: u64, end: u64) {
        self.report.head = tip;
        self.report.records += 1;
        if Some(tip.hash) == self.anchor {
            self.report.anchored = Some(tip.seq);
        }
        if let Some(head) = &self.head {
            let named = head.tip == tip && head.segment == segment && head.length == end;
            // A new segment that is still empty: `HEAD` names it, and the last record of the one before.
            let turned = head.tip == tip && head.segment == segment + 1 && head.length == 0;
            self.head_fits |= named || turned;
        }
    }

    /// Whether a sudden stop explains that the last segment ends in `fault`.
    fn may_be_torn(&self, fault: &Fault) -> bool {
        let Some(head) = &self.head else { return false };
        let seq = self.report.head.seq;
        let after_kill = fault.what == UNFINISHED && self.head_fits && seq >= head.tip.seq;
        after_kill || self.lost_to_a_power_cut(head)
    }

    /// Whether everything that is missing or spoiled had not been synced when the machine went down.
    fn lost_to_a_power_cut(&self, head: &Head) -> bool {
        head.boot != boot::id() && self.report.head.seq >= head.synced
    }

    /// Compares the end of an unbroken chain with `HEAD`.
    fn against_head(&mut self) -> Result<(), LedgerError> {
        let seq = self.report.head.seq;
        let Some(head) = &self.head else {
            // Files that were made and never used are no ledger yet.
            if seq > 0 {
                self.tampered("it is not there");
            }
            return Ok(());
        };
        if seq < head.tip.seq {
            let what = format!("it names record {}, and the last one there is {seq}", head.tip.seq);
            let torn = self.lost_to_a_power_cut(head);
            self.tampered(&what);
            if torn {
                self.report.standing = Standing::Torn;
            }
            return Ok(());
        }
        if !self.head_fits {
            self.tampered("it does not name the record that is there");
            return Ok(());
        }
        // Only now: had it moved on before, the records above would have been more as well.
        let latest = read_head(&self.files)?.flatten();
        let behind =
            latest.filter(|head| head.boot == boot::id()).map_or(0, |head| seq.saturating_sub(head.tip.seq));
        if behind > BATCH as u64 {
            self.tampered(&format!("it is {behind} records behind"));
        }
        Ok(())
    }

    fn tampered(&mut self, what: &str) {
        self.report.standing = Standing::Tampered;
        self.report.fault = Some(fault("HEAD", what));
    }
}

const UNFINISHED: &str = "the last line is unfinished";

fn fault(file: &str, what: &str) -> Fault {
    Fault { file: file.to_owned(), line: None, seq: None, what: what.to_owned() }
}

/// A chain that was rewritten as a whole fits; only a hash that was kept elsewhere is not in it.
fn look_for_anchor(anchor: Option<Hash>, report: Report) -> Report {
    match anchor {
        Some(anchor) if report.anchored.is_none() && report.standing != Standing::Tampered => {
            let what = format!("no record has the hash {anchor}");
            Report { standing: Standing::Tampered, fault: Some(fault("anchor", &what)), ..report }
        }
        _ => report,
    }
}

/// `None`: there is no `HEAD`, or nothing in it yet. `Some(None)`: its contents are not ours.
fn read_head(files: &Files) -> Result<Option<Option<Head>>, LedgerError> {
    let Some(mut file) = files.head(Use::Read)? else { return Ok(None) };
    let mut bytes = Vec::with_capacity(SIZE + 1);
    let count = file.by_ref().take(SIZE as u64 + 1).read_to_end(&mut bytes);
    match count.map_err(LedgerError::io("read", &files.head_path()))? {
        0 => Ok(None),
        _ => Ok(Some(Head::parse(&bytes))),
    }
}
