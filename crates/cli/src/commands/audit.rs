//! `picoclaw audit`: shows, verifies and accepts the audit log. A missing ledger is not an error.

mod accept;
mod show;
mod table;
mod tail;
mod verify;

use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::path::Path;

/// Read and verify the audit log
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show the last records
    Tail(tail::TailArgs),
    /// Show one record, or all that match
    Show(show::ShowArgs),
    /// Check that no record was changed, added or removed
    Verify(verify::VerifyArgs),
    /// Continue after the audit log was emptied, rolled back, replaced or changed; this is recorded
    Accept,
}

/// The output streams: the result, and notes about it.
struct Streams<'w> {
    out: &'w mut dyn Write,
    notes: &'w mut dyn Write,
    /// Columns of the terminal that the result is for.
    width: Option<usize>,
}

/// Runs the command on the ledger of the instance at `home`, and returns the exit code. `out` is
/// stdout, `notes` is stderr, and `width` that of the terminal.
pub(crate) fn run(
    args: &AuditArgs,
    home: &Path,
    out: &mut dyn Write,
    notes: &mut dyn Write,
    width: Option<usize>,
) -> anyhow::Result<u8> {
    let mut streams = Streams { out, notes, width };
    let (dir, state) = (&*home.join("ledger"), &*home.join("state"));
    let done = match &args.command {
        AuditCommand::Tail(args) => tail::run(args, dir, &mut streams),
        AuditCommand::Show(args) => show::run(args, dir, &mut streams),
        AuditCommand::Verify(args) => verify::run(args, dir, state, &mut streams),
        AuditCommand::Accept => accept::run(dir, state, &mut streams),
    };
    match done.and_then(|code| Ok(streams.out.flush().map(|()| code)?)) {
        // The reader closed the pipe: `picoclaw audit show | head`.
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
