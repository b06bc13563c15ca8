//! `picoclaw audit verify`: intact, torn or tampered. The exit code is 1 if the ledger was changed
//! or cannot be read.

use super::Streams;
use crate::progress::Progress;
use clap::Args;
use picoclaw_sandbox::ledger::{self, Anchor, Fault, Hash, Integrity, OutsideState, Report};
use picoclaw_sandbox::{printable, printable_json};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// A hash that `picoclaw status` printed earlier: it must still be in the chain, else
    /// everything was rewritten
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    anchor: Option<Hash>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &VerifyArgs,
    dir: &Path,
    state: &Path,
    streams: &mut Streams<'_>,
) -> anyhow::Result<u8> {
    let progress = Progress::of("verifying the audit log");
    let report = ledger::verify_with_head(dir, state, args.anchor.map_or(Anchor::Unknown, Anchor::Known))?;
    drop(progress);
    let text = if args.json { report_json(&report)? } else { report_text(&report) };
    writeln!(streams.out, "{text}")?;
    Ok(u8::from(report.integrity == Integrity::Tampered))
}

fn report_text(report: &Report) -> String {
    let mut out = match (report.integrity, report.records) {
        (Integrity::Intact, 0) => "intact: no records yet".to_owned(),
        (integrity, records) => format!(
            "{}: {records} record{} in {} segment{} fit",
            integrity.as_str(),
            plural(records),
            report.segments,
            plural(report.segments)
        ),
    };
    if report.records > 0 {
        let _ = write!(out, "\nhead: {} (record {})", report.head.hash, report.head.seq);
    }
    if let Some(seq) = report.anchored {
        let _ = write!(out, "\nanchor: record {seq}");
    }
    if let Some(fault) = &report.fault {
        let _ = write!(out, "\nfirst fault: {}", location_text(fault));
    }
    match report.integrity {
        Integrity::Intact => {}
        Integrity::Torn => out.push_str("\nhint: a crash explains this; the next write repairs it"),
        Integrity::Tampered => out.push_str(
            "\nhint: nothing is permitted until the operator runs `picoclaw audit accept`, which is recorded; keep a copy of the directory as evidence",
        ),
    }
    if report.integrity != Integrity::Tampered && report.records > 0 {
        let (proves, cannot) = proofs(report);
        let _ = write!(out, "\nproves: {proves}\ncannot prove: {cannot}");
    }
    out
}

/// What the check proves, and what it cannot.
fn proofs(report: &Report) -> (String, &'static str) {
    let chain = "no record was changed, removed or added without rewriting all later ones";
    let outside = match report.outside {
        OutsideState::Record(seq) => {
            format!("; the ledger holds record {seq}, which `state/ledger-head` remembers")
        }
        OutsideState::Missing => "; no head is kept outside the ledger yet".to_owned(),
    };
    let cannot = match report.anchored {
        Some(_) => {
            "that nothing was rewritten or cut after the anchor by a program that may write in the instance"
        }
        None => {
            "that ledger and `state/ledger-head` were not rewritten together; `--anchor HASH` with a hash kept elsewhere (`ledger.anchor`) does"
        }
    };
    (format!("{chain}{outside}"), cannot)
}

fn location_text(fault: &Fault) -> String {
    let mut out = printable(&fault.file).into_owned();
    if let Some(line) = fault.line {
        let _ = write!(out, ", line {line}");
    }
    if let Some(seq) = fault.seq {
        let _ = write!(out, ", record {seq}");
    }
    let _ = write!(out, ": {}", printable(&fault.what));
    out
}

fn report_json(report: &Report) -> std::io::Result<String> {
    let fault = report
        .fault
        .as_ref()
        .map(|fault| json!({ "file": fault.file, "line": fault.line, "seq": fault.seq, "what": fault.what }));
    let (proves, cannot) = proofs(report);
    let proves = Some(proves).filter(|_| report.integrity != Integrity::Tampered);
    printable_json(&json!({
        "verdict": report.integrity.as_str(),
        "records": report.records,
        "segments": report.segments,
        "head": { "seq": report.head.seq, "hash": report.head.hash.to_string() },
        "anchor": report.anchored,
        "fault": fault,
        "proves": proves,
        "cannot_prove": cannot,
    }))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn parse_hash(text: &str) -> Result<Hash, &'static str> {
    Hash::parse(&text.trim().to_ascii_lowercase()).ok_or("not a hash: 64 hexadecimal digits")
}
