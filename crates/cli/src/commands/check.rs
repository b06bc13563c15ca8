//! `picoclaw check`: what would happen, without doing it.
//!
//! Invariant: nothing runs, nothing is connected to, and nothing is recorded.

use crate::arguments::{CheckAction, CheckArguments};
use crate::exit::{self, Exit};
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::Result;
use picoclaw_agent::dry_run::{Action, evaluate, evaluate_address};
use picoclaw_policy::{Origin, Verdict};
use picoclaw_sandbox::outbound::Outbound;
use std::path::Path;

/// Asks the desk, and renders its answer.
pub(crate) fn run(arguments: &CheckArguments, loaded: &Loaded) -> Result<Exit> {
    let subject = match compose::subject(loaded, arguments.agent.as_deref(), Origin::Tool) {
        Ok(subject) => subject,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    if arguments.subject.trim().is_empty() {
        return Ok(exit::bad_usage(&anyhow::anyhow!("there is nothing to check")));
    }
    let house = compose::house(loaded)?;
    let ask = |action| {
        let cwd = arguments.cwd.as_deref().unwrap_or(Path::new(""));
        evaluate(&house.warden, &subject, action, &arguments.subject, cwd)
    };
    let findings = match arguments.action {
        CheckAction::Exec => ask(Action::Exec)?,
        CheckAction::Read => ask(Action::Read)?,
        CheckAction::Write => ask(Action::Write)?,
        CheckAction::Fetch => {
            let outbound = Outbound::new(&loaded.config.tools.web);
            evaluate_address(&house.warden, &subject, &arguments.subject, &outbound)
        }
    };
    let shown = if arguments.json { findings.to_json()?.to_string() } else { findings.to_words() };
    print::line(&shown)?;
    Ok(match findings.verdict {
        Verdict::Allow(_) => Exit::Done,
        Verdict::Deny(_) => Exit::Refused,
        Verdict::Ask(_) => Exit::Unasked,
    })
}
