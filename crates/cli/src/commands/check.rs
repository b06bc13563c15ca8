//! `picoclaw check`: what would happen, without doing it.
//!
//! Invariant: nothing runs, nothing is recorded, nothing is created.

use crate::arguments::{CheckAction, CheckArguments};
use crate::exit::Exit;
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::Result;
use picoclaw_policy::{Access, Origin, Verdict};
use picoclaw_sandbox::files::{Read, Write};
use serde_json::json;
use std::path::Path;

/// Asks the desk, and renders its answer.
pub(crate) fn run(arguments: &CheckArguments, loaded: &Loaded) -> Result<Exit> {
    let subject = compose::subject(loaded, arguments.agent.as_deref(), Origin::Tool)?;
    let house = compose::house(loaded)?;
    let path = Path::new(&arguments.subject);
    let verdict = match arguments.action {
        CheckAction::Read => {
            let sought = house.warden.seek(Access::Read, path, &subject)?;
            house.warden.consider("read_file", &subject, &Read(sought))
        }
        CheckAction::Write => {
            let sought = house.warden.seek(Access::Write, path, &subject)?;
            house.warden.consider("write_file", &subject, &Write(sought))
        }
    };
    let answer = answer(&verdict);
    print::line(&if arguments.json { answer.to_string() } else { words(&verdict) })?;
    Ok(match verdict {
        Verdict::Allow(_) => Exit::Done,
        Verdict::Deny(_) => Exit::Refused,
        Verdict::Ask(_) => Exit::Unasked,
    })
}

fn answer(verdict: &Verdict) -> serde_json::Value {
    match verdict {
        Verdict::Allow(grant) => json!({"verdict": "allow", "rule": grant.rule}),
        Verdict::Ask(question) => {
            let no = &question.refusal;
            json!({"verdict": "ask", "code": no.code.as_str(), "rule": no.rule, "layer": no.layer.as_str(), "sentence": no.sentence, "hint": no.hint})
        }
        Verdict::Deny(no) => {
            json!({"verdict": "deny", "code": no.code.as_str(), "rule": no.rule, "layer": no.layer.as_str(), "sentence": no.sentence, "hint": no.hint})
        }
    }
}

fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow(grant) => format!("allow\nrule: {}", grant.rule),
        Verdict::Ask(question) => format!("ask\n{}", reasons(&question.refusal)),
        Verdict::Deny(refusal) => format!("deny\n{}", reasons(refusal)),
    }
}

fn reasons(no: &picoclaw_policy::Refusal) -> String {
    format!("{}\nrule: {}\nlayer: {}\ncode: {}\nhint: {}", no.sentence, no.rule, no.layer.as_str(), no.code.as_str(), no.hint)
}
