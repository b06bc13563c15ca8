//! `picoclaw audit accept`: the operator lets the audit log go on after it was tampered with.

use super::Streams;
use crate::progress::Progress;
use picoclaw_sandbox::ledger::{self, Accepted};
use std::path::Path;

pub(super) fn run(dir: &Path, state: &Path, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let progress = Progress::of("verifying the audit log");
    let accepted = ledger::accept(dir, state)?;
    drop(progress);
    let text = match accepted {
        Accepted::Nothing => "nothing to accept: the audit log is as it was written".to_owned(),
        Accepted::Continued => "accepted and recorded: the audit log goes on as it is".to_owned(),
        Accepted::SetAside(path) => {
            format!(
                "accepted and recorded: a new audit log was begun, and the old one is `{}`",
                path.display()
            )
        }
    };
    writeln!(streams.out, "{text}")?;
    Ok(0)
}
