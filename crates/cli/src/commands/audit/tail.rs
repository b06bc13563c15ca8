//! `picoclaw audit tail`: the last records, and those that follow.

use super::Streams;
use super::table::{OutputForm, Printer};
use clap::Args;
use picoclaw_sandbox::ledger::{LedgerError, Reader, Records};
use std::path::Path;
use std::time::Duration;

/// How often to look for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct TailArgs {
    /// Number of records
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    count: u64,
    /// One JSON object per line, as in the ledger
    #[arg(long)]
    json: bool,
    /// Keep printing records as they are added
    #[arg(short, long)]
    follow: bool,
}

pub(super) fn run(args: &TailArgs, dir: &Path, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let mut printer = Printer::new(streams, OutputForm::from_flag(args.json));
    let mut records = open(dir, args.count)?;
    loop {
        if let Some(records) = &mut records {
            while let Some(stored) = records.next()? {
                printer.line(&stored, |_| true)?;
            }
        }
        if !args.follow {
            printer.end()?;
            return Ok(0);
        }
        printer.flush()?;
        std::thread::sleep(POLL_INTERVAL);
        if records.is_none() {
            // In a ledger that was just created, every record is new.
            records = open(dir, u64::MAX)?;
        }
    }
}

fn open(dir: &Path, count: u64) -> Result<Option<Records>, LedgerError> {
    Reader::open(dir)?.map(|reader| reader.last(count)).transpose()
}
