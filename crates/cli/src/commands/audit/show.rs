//! `picoclaw audit show`: one record in full, or all that match.

use super::Streams;
use super::table::{OutputForm, Printer, print_full};
use clap::{Args, ValueEnum};
use picoclaw_sandbox::ledger::{Reader, Record, Timestamp};
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The number of one record
    #[arg(value_name = "SEQ", conflicts_with_all = ["agent", "tool", "verdict", "since"])]
    seq: Option<u64>,
    /// Only records of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only records of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only records with this verdict
    #[arg(long)]
    verdict: Option<DecisionFilter>,
    /// Only records since: `2026-11-15`, `2026-11-15T04:28:00Z`, or an age such as `90s`, `10m`,
    /// `2h`, `7d`
    #[arg(long, value_name = "WHEN", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// One JSON object per line, as in the ledger
    #[arg(long)]
    json: bool,
}

/// A verdict as spelled in the ledger.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DecisionFilter {
    Allow,
    Deny,
    Ask,
}

impl DecisionFilter {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

pub(super) fn run(args: &ShowArgs, dir: &Path, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let mut records = Reader::open(dir)?.map(Reader::all).transpose()?;
    let mut next = || records.as_mut().map_or(Ok(None), |records| records.next());
    if let Some(seq) = args.seq {
        while let Some(stored) = next()? {
            if let Ok(record) = &stored.record
                && record.seq == seq
            {
                match OutputForm::from_flag(args.json) {
                    OutputForm::Json => writeln!(streams.out, "{}", stored.text)?,
                    OutputForm::Table => print_full(record, streams.out)?,
                }
                return Ok(0);
            }
        }
        writeln!(streams.notes, "there is no record {seq} in the ledger")?;
        return Ok(1);
    }
    let since = args.since.map(|since| since.to_string());
    let mut printer = Printer::new(streams, OutputForm::from_flag(args.json));
    let mut seen = false;
    while let Some(stored) = next()? {
        seen = true;
        printer.line(&stored, |record| matches(args, since.as_deref(), record))?;
    }
    if seen {
        printer.flush()?;
    } else {
        printer.end()?;
    }
    Ok(0)
}

fn matches(args: &ShowArgs, since: Option<&str>, record: &Record) -> bool {
    args.agent.as_ref().is_none_or(|agent| *agent == record.agent)
        && args.tool.as_ref().is_none_or(|tool| *tool == record.tool)
        && args.verdict.is_none_or(|word| word.as_str() == record.verdict)
        // Timestamps have one spelling of fixed length, so they compare as text.
        && since.is_none_or(|since| record.time.as_str() >= since)
}

/// A timestamp, or an age.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Some(moment) = Timestamp::parse(text) {
        return Ok(moment);
    }
    let age = || {
        let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        // `parse` would accept a sign.
        let count = count.bytes().all(|b| b.is_ascii_digit()).then(|| count.parse::<u64>().ok())??;
        Some(Duration::from_secs(count.checked_mul(seconds)?))
    };
    let age = age().ok_or("not a time (`2026-11-15T04:28:00Z`) and not an age (`10m`, `2h`, `7d`)")?;
    Ok(Timestamp::now().before(age))
}
