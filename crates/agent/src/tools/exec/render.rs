//! The result of a command as text for the model.

use crate::call::Reply;
use picoclaw_sandbox::exec::{CommandReport, Session};
use picoclaw_sandbox::launch::{Finished, Limit, State, Status};
use serde_json::{Value, json};
use std::time::Duration;

/// What helps a command that needs more time.
const TIMEOUT_HINT: &str = "hint: `background: true` lets a command run on, to be read with `action: poll`; \
    `tools.exec.timeout_seconds` is the longest time of any other";

/// The reply to a command that ran to its end.
pub(super) fn finished(done: &Finished, deadline: Duration, report: &CommandReport) -> Reply {
    let mut output = output(done);
    for note in notes(report, done.status != Status::Exited(0)) {
        let gap = if output.is_empty() { "" } else { "\n\n" };
        output.push_str(&format!("{gap}[{note}]"));
    }
    let limit = done.limit.map(limit_text).unwrap_or_default();
    match done.status {
        Status::Exited(0) if output.is_empty() => Reply::Done("(no output)".to_owned()),
        Status::Exited(0) => Reply::Done(output),
        Status::Exited(code) => ended(&output, format!("Command exited with code {code}{limit}")),
        Status::Signaled(signal) => {
            ended(&output, format!("Command killed by signal {signal}{}{limit}", signal_name(signal)))
        }
        Status::Halted => ended(&output, "Command stopped".to_owned()),
        Status::OutOfMemory | Status::OutOfProcesses => ended(&output, format!("Command ended{limit}")),
        Status::TimedOut => {
            let how = format!("Command timed out after {}", go_duration(deadline));
            let mut text = how.clone();
            if !output.is_empty() {
                text.push_str(&format!("\n\nPartial output before timeout:\n{output}"));
            }
            text.push_str(&format!("\n{TIMEOUT_HINT}"));
            Reply::Ended { how, text }
        }
    }
}

/// What became of the protected files, and which hosts a command that failed did not reach.
fn notes(report: &CommandReport, has_failed: bool) -> Vec<String> {
    let CommandReport { protected, network } = report;
    let refused = protected.refused.iter();
    let refused = refused.map(|file| format!("`{file}` is protected; `isolation.protect` lists what is"));
    let missed = network.lines().into_iter().filter(|_| has_failed);
    protected.line().into_iter().chain(refused).chain(missed).collect()
}

/// An answer about a session, with what became of the protected files, if it has ended.
pub(super) fn with_notes(mut answer: Value, session: &Session) -> String {
    let has_failed = !matches!(session.state(), State::Ended(Status::Exited(0)));
    let notes = session.report().map(|report| notes(report, has_failed)).unwrap_or_default();
    if !notes.is_empty() {
        answer["notes"] = json!(notes);
    }
    answer.to_string()
}

/// The status and exit code of a session.
pub(super) fn session_status(state: &State) -> (&'static str, Value) {
    match state {
        State::Running => ("running", Value::Null),
        State::Ended(status) => ("done", json!(status.exit_code())),
    }
}

fn output(done: &Finished) -> String {
    let mut text = done.stdout.to_text();
    let errors = done.stderr.to_text();
    if !errors.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("STDERR:\n");
        text.push_str(&errors);
    }
    text
}

/// A sentence about the limit of the whole tree that a command has reached.
fn limit_text(limit: Limit) -> String {
    format!("; {limit}; {}", limit.remedy())
}

fn ended(output: &str, how: String) -> Reply {
    let text = if output.is_empty() { format!("[{how}]") } else { format!("{output}\n\n[{how}]") };
    Reply::Ended { how, text }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        31 => " (SIGSYS)",
        _ => "",
    }
}

/// A duration as the documented sentence has it: `1m0s`.
fn go_duration(time: Duration) -> String {
    let (hours, minutes, seconds) = (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_spelled_as_documented() {
        for (seconds, want) in [(5, "5s"), (60, "1m0s"), (90, "1m30s"), (3600, "1h0m0s")] {
            assert_eq!(go_duration(Duration::from_secs(seconds)), want);
        }
    }
}
