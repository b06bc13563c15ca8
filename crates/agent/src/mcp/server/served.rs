//! The tools that only a server has: `check`, which asks the desk, and `policy`, which shows its rules.
//!
//! Invariant: both only look, and what they say has no secret in it.

use super::charter::Charter;
use super::roots::Roots;
use crate::call::Call;
use crate::dry_run::{Action, evaluate};
use crate::tools::{Arguments, Need, Parameter, Type, schema_of_parameters};
use picoclaw_policy::{Code, Layer, Refusal, Verdict};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const CHECK: &str = "check";
pub(super) const CHECK_ABOUT: &str = "Ask whether a command, a read or a write would be allowed, and which setting would allow it. Nothing is done.";
pub(super) const POLICY: &str = "policy";
pub(super) const POLICY_ABOUT: &str = "Show what this agent may do here: workspace, tools, paths, how commands are guarded and what the kernel holds.";

const ASKED: &[Parameter] = &[
    Parameter { name: "action", kind: Type::Text, need: Need::Required, about: "`exec`, `read` or `write`." },
    Parameter {
        name: "subject",
        kind: Type::Text,
        need: Need::Required,
        about: "The command line, or the path.",
    },
];

/// What `check` takes.
pub(super) fn check_schema() -> Value {
    let mut schema = schema_of_parameters(ASKED);
    schema["properties"]["action"]["enum"] = json!(["exec", "read", "write"]);
    schema
}

/// What `policy` takes.
pub(super) fn policy_schema() -> Value {
    schema_of_parameters(&[])
}

/// What one of them says: words, and the same as an object.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) structured: Value,
}

/// Runs one of them; a call that cannot be answered is turned away, and that is recorded.
pub(super) fn run(call: &Call, warden: &Warden, charter: &Charter, roots: &Roots) -> Result<Said, Refusal> {
    let away = |refusal| warden.turn_away(&call.tool, &call.subject, refusal);
    warden.policy().offers(&call.tool, &call.subject).map_err(away)?;
    let misfit = |why: String| away(misfit(&call.tool, &why));
    if call.tool == POLICY {
        Arguments::check(&[], &call.arguments).map_err(misfit)?;
        let structured = charter.to_json(warden, &call.subject, roots);
        return Ok(Said { text: charter.to_words(&structured), structured });
    }
    let arguments = Arguments::check(ASKED, &call.arguments).map_err(misfit)?;
    let (action, about) = (arguments.text("action"), arguments.text("subject"));
    let unknown = || misfit(format!("property \"action\": expected exec, read or write, got {action:?}"));
    let action = Action::parse(action).ok_or_else(unknown)?;
    if about.trim().is_empty() {
        return Err(misfit("property \"subject\": there is nothing to check".to_owned()));
    }
    let findings = evaluate(warden, &call.subject, action, about, Path::new(""))
        .map_err(|why| misfit(format!("property \"subject\": {why}")))?;
    let narrowed = match (&findings.verdict, action) {
        (Verdict::Allow(_), Action::Read | Action::Write) => roots.refusal_of(about, warden, &call.subject),
        _ => None,
    };
    let findings = match narrowed {
        Some(refusal) => crate::dry_run::Findings { verdict: Verdict::Deny(refusal), ..findings },
        None => findings,
    };
    let structured = findings.to_json().map_err(|why| misfit(why.to_string()))?;
    Ok(Said { text: findings.to_words(), structured })
}

fn misfit(tool: &str, why: &str) -> Refusal {
    Refusal {
        code: Code::InvalidArguments,
        sentence: format!("invalid arguments for tool {tool:?}: {why}"),
        rule: "tools".to_owned(),
        layer: Layer::Hall,
        hint: String::new(),
    }
}
