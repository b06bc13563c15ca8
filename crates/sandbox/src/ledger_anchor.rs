//! Takes each new head of the ledger to a file or a command of the operator, out of reach of a
//! change to the instance.
//!
//! The line is `HASH SEQ`. What fails is logged; the ledger goes on. A run of the command is not
//! recorded: its record would be a new head.

use crate::confine::Confined;
use crate::launch::{
    self, Deadline, LaunchSpec, Output, OutputLimit, Principal, Status, Stdin, Streams, WorkDir, environment,
};
use crate::ledger::{AnchorSink, ChainHead};
use crate::os_file::{CWD, Mode, OFlags, openat};
use crate::protect::Protection;
use picoclaw_policy::config::LedgerAnchor;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What takes the heads of a ledger where the configuration says. `host` is the environment of this
/// process, and `secrets` do not reach the command.
pub fn sink(anchor: &LedgerAnchor, host: Vec<(OsString, OsString)>, secrets: Vec<String>) -> AnchorSink {
    let anchor = anchor.clone();
    Box::new(move |head| {
        let line = format!("{} {}\n", head.hash, head.seq);
        let done = match &anchor {
            LedgerAnchor::File(path) => append(path, &line).map_err(|why| why.to_string()),
            LedgerAnchor::Command(command) => run(command, &line, &host, &secrets),
        };
        if let Err(why) = done {
            report(head, &why);
        }
    })
}

fn report(head: ChainHead, why: &str) {
    tracing::warn!(target: "ledger", seq = head.seq, error = %why, "`ledger.anchor` did not take the head");
}

/// Appends the line, in one write.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = File::from(openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// Runs the command with the line as its standard input: without a cage, for the head must leave.
fn run(
    command: &[String],
    line: &str,
    host: &environment::Variables,
    secrets: &[String],
) -> Result<(), String> {
    let text = |why: &dyn std::fmt::Display| why.to_string();
    let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
    let name = argv.first().ok_or("there is no command to run")?;
    let dir = PathBuf::from("/");
    let path = environment::get(host, "PATH").unwrap_or_default();
    let program = launch::find_program(name, path, &dir).map_err(|why| text(&why))?;
    let environment = environment::without_secrets(host.iter().cloned(), secrets);
    let confined = Confined::none(environment, Protection::none());
    let work_dir = WorkDir::open(&dir).map_err(|why| text(&why))?;
    let principal = Principal::Hook("ledger-anchor".to_owned());
    let (spec, _) = confined.spec(program, argv, work_dir, principal).map_err(|why| text(&why))?;
    let streams = Streams::Plain { stdin: Stdin::Bytes(line.as_bytes().to_vec()), output: Output::Merged };
    let (deadline, output_limit) = (Deadline::After(TIMEOUT), OutputLimit { head: 1 << 10, tail: 1 << 10 });
    let spec = LaunchSpec { streams, deadline, output_limit, ..spec };
    match launch::run_to_end(spec).map_err(|why| text(&why))?.status {
        Status::Exited(0) => Ok(()),
        other => Err(other.outcome_text()),
    }
}
