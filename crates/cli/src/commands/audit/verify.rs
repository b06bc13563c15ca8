//! `picoclaw audit verify`: intact, torn or tampered. The exit code is 1 if the ledger was changed
//! or cannot be read.

use super::Streams;
use clap::Args;
use picoclaw_sandbox::ledger::{self, Anchor, Fault, Hash, Integrity, Report};
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

pub(super) fn run(args: &VerifyArgs, dir: &Path, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let report = ledger::verify(dir, args.anchor.map_or(Anchor::Unknown, Anchor::Known))?;
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
            "\nhint: keep the whole directory as evidence; picoclaw begins a new ledger when it is moved aside",
        ),
    }
    out
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
    printable_json(&json!({
        "verdict": report.integrity.as_str(),
        "records": report.records,
        "segments": report.segments,
        "head": { "seq": report.head.seq, "hash": report.head.hash.to_string() },
        "anchor": report.anchored,
        "fault": fault,
    }))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn parse_hash(text: &str) -> Result<Hash, &'static str> {
    Hash::parse(&text.trim().to_ascii_lowercase()).ok_or("not a hash: 64 hexadecimal digits")
}
