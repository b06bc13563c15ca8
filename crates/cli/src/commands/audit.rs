//! `picoclaw audit`: what was decided, and whether it is still what was written.
//!
//! Invariant: reads only. Nothing is made, changed or locked, and a missing ledger is no error.

mod show;
mod table;
mod tail;
mod verify;

use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::path::Path;

/// Look into the ledger
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show the last records
    Tail(tail::TailArgs),
    /// Show one record, or all that fit
    Show(show::ShowArgs),
    /// Check that no record was changed, added or taken away
    Verify(verify::VerifyArgs),
}

/// Where a command writes: its result, and remarks about it.
struct Streams<'w> {
    out: &'w mut dyn Write,
    notes: &'w mut dyn Write,
}

/// Runs the command on the ledger in `dir`; answers the exit code. `out` is stdout, `notes` is stderr.
pub(crate) fn run(
    args: &AuditArgs,
    dir: &Path,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> anyhow::Result<u8> {
    let mut streams = Streams { out, notes };
    let done = match &args.command {
        AuditCommand::Tail(args) => tail::run(args, dir, &mut streams),
        AuditCommand::Show(args) => show::run(args, dir, &mut streams),
        AuditCommand::Verify(args) => verify::run(args, dir, &mut streams),
    };
    match done.and_then(|code| Ok(streams.out.flush().map(|()| code)?)) {
        // Whoever read our output has seen enough: `picoclaw audit show | head`.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            Ok(0)
        }
        done => done,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests change a ledger as a stranger would")]
mod tests;
