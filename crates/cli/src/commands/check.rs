//! `picoclaw check`: what would happen, without doing it.
//!
//! Invariant: nothing runs and nothing is recorded.

use crate::arguments::{CheckAction, CheckArguments};
use crate::exit::{self, Exit};
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::Result;
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{Access, Origin, Refusal, Subject, Verdict};
use picoclaw_sandbox::files::{Read, Write};
use picoclaw_sandbox::printable_lines;
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
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
    let warden = &house.warden;
    let path = Path::new(&arguments.subject);
    let (verdict, judgement) = match arguments.action {
        CheckAction::Read => {
            let sought = Read(warden.seek(Access::Read, path, &subject)?);
            (warden.consider("read_file", &subject, &sought), None)
        }
        CheckAction::Write => {
            let sought = Write(warden.seek(Access::Write, path, &subject)?);
            (warden.consider("write_file", &subject, &sought), None)
        }
        CheckAction::Exec => {
            let sought = warden.seek_command(
                &arguments.subject,
                arguments.cwd.as_deref().unwrap_or(Path::new("")),
                &subject,
            )?;
            (warden.consider("exec", &subject, &sought), Some(sought.judgement().clone()))
        }
    };
    let shown = if arguments.json {
        answer(&verdict, judgement.as_ref())?.to_string()
    } else {
        words(&verdict, judgement.as_ref())
    };
    print::line(&shown)?;
    Ok(match verdict {
        Verdict::Allow(_) => Exit::Done,
        Verdict::Deny(_) => Exit::Refused,
        Verdict::Ask(_) => Exit::Unasked,
    })
}

/// The desk's answer to a command, in words, for somebody who is talking already.
pub(crate) fn of_command(warden: &Warden, subject: &Subject, command: &str) -> Result<String> {
    let sought = warden.seek_command(command, Path::new(""), subject)?;
    let verdict = warden.consider("exec", subject, &sought);
    Ok(words(&verdict, Some(sought.judgement())))
}

fn answer(verdict: &Verdict, judgement: Option<&Judgement>) -> Result<Value> {
    let mut answer = match verdict {
        Verdict::Allow(grant) => json!({"verdict": "allow", "rule": grant.rule}),
        Verdict::Ask(question) => refused("ask", &question.refusal),
        Verdict::Deny(refusal) => refused("deny", refusal),
    };
    if let Some(judgement) = judgement {
        let explained = serde_json::to_value(judgement.explanation())?;
        for key in ["finding", "others", "commands"] {
            answer[key] = explained[key].clone();
        }
    }
    Ok(answer)
}

fn refused(verdict: &str, no: &Refusal) -> Value {
    json!({"verdict": verdict, "code": no.code.as_str(), "rule": no.rule, "layer": no.layer.as_str(), "sentence": no.sentence, "hint": no.hint})
}

fn words(verdict: &Verdict, judgement: Option<&Judgement>) -> String {
    let mut text = match verdict {
        Verdict::Allow(grant) => format!("allow\nrule: {}", grant.rule),
        Verdict::Ask(question) => format!("ask\n{}", reasons(&question.refusal)),
        Verdict::Deny(refusal) => format!("deny\n{}", reasons(refusal)),
    };
    for command in judgement.iter().flat_map(|judgement| &judgement.commands) {
        let argv: Vec<_> = command.argv.iter().map(|word| format!("{word:?}")).collect();
        let rules = if command.rules.is_empty() {
            String::new()
        } else {
            format!("  <- {}", command.rules.join(", "))
        };
        text.push_str(&format!("\ncommand: {}  (in {}){rules}", argv.join(" "), command.cwd.join(" or ")));
    }
    printable_lines(&text).into_owned()
}

fn reasons(no: &Refusal) -> String {
    format!(
        "{}\nrule: {}\nlayer: {}\ncode: {}\nhint: {}",
        no.sentence,
        no.rule,
        no.layer.as_str(),
        no.code.as_str(),
        no.hint
    )
}
