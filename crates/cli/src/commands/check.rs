//! `picoclaw check`: the policy's verdict on an effect, without the effect. Nothing is recorded.

use crate::arguments::{CheckAction, CheckArguments};
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::Result;
use picoclaw_agent::dry_run::{Action, evaluate, evaluate_address, evaluate_connection};
use picoclaw_policy::{Origin, Verdict};
use picoclaw_sandbox::outbound::Outbound;
use std::path::Path;

/// Judges the effect and prints the verdict.
pub(crate) fn run(arguments: &CheckArguments, settings: &Settings) -> Result<Exit> {
    let subject = match app::subject(settings, arguments.agent.as_deref(), Origin::Tool) {
        Ok(subject) => subject,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    if arguments.subject.trim().is_empty() {
        return Ok(exit::bad_usage(&anyhow::anyhow!("there is nothing to check")));
    }
    let core = app::core(settings)?;
    let ask = |action| {
        let cwd = arguments.cwd.as_deref().unwrap_or(Path::new(""));
        evaluate(&core.warden, &subject, action, &arguments.subject, cwd)
    };
    let progress = Progress::of("checking");
    let findings = match arguments.action {
        CheckAction::Exec => ask(Action::Exec)?,
        CheckAction::Read => ask(Action::Read)?,
        CheckAction::Write => ask(Action::Write)?,
        CheckAction::Fetch => {
            let outbound = Outbound::new(&settings.config.tools.web);
            evaluate_address(&core.warden, &subject, &arguments.subject, &outbound)
        }
        CheckAction::Connect => {
            match evaluate_connection(&settings.config.isolation, arguments.subject.trim()) {
                Some(findings) => findings,
                None => {
                    return Ok(exit::bad_usage(&anyhow::anyhow!("`check connect` wants HOST or HOST:PORT")));
                }
            }
        }
    };
    drop(progress);
    let shown = if arguments.json { findings.to_json()?.to_string() } else { findings.to_words() };
    print::line(&shown)?;
    Ok(match findings.verdict {
        Verdict::Allow(_) => Exit::Done,
        Verdict::Deny(_) => Exit::Refused,
        Verdict::Ask(_) => Exit::NeedsApproval,
    })
}
