//! The tools that only the MCP server has: `check`, a dry run, and `policy`, a summary of the
//! rules.

use super::policy_summary::PolicySummary;
use super::roots::Roots;
use crate::call::Call;
use crate::dry_run::{Action, Findings, evaluate};
use crate::tools::{Arguments, Need, Parameter, Type, json_schema};
use picoclaw_policy::{Refusal, Verdict};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const CHECK: &str = "check";
pub(super) const CHECK_ABOUT: &str = "Ask whether a command, a read or a write would be allowed, and which setting would allow it. Nothing is done.";
pub(super) const POLICY: &str = "policy";
pub(super) const POLICY_ABOUT: &str = "Show what this agent may do here: workspace, tools, paths, how commands are guarded and what the kernel holds.";

const CHECK_PARAMETERS: &[Parameter] = &[
    Parameter { name: "action", kind: Type::Text, need: Need::Required, about: "`exec`, `read` or `write`." },
    Parameter {
        name: "subject",
        kind: Type::Text,
        need: Need::Required,
        about: "The command line, or the path.",
    },
];

/// The input schema of `check`.
pub(super) fn check_schema() -> Value {
    let mut schema = json_schema(CHECK_PARAMETERS);
    schema["properties"]["action"]["enum"] = json!(["exec", "read", "write"]);
    schema
}

/// The input schema of `policy`.
pub(super) fn policy_schema() -> Value {
    json_schema(&[])
}

/// A result as text and as an object.
pub(super) struct BuiltinResult {
    pub(super) text: String,
    pub(super) structured: Value,
}

/// Whether `tool` is one of them.
pub(super) fn is_builtin(tool: &str) -> bool {
    [CHECK, POLICY].contains(&tool)
}

/// Runs one of them. A refused call is recorded.
pub(super) fn run(
    call: &Call,
    warden: &Warden,
    summary: &PolicySummary,
    roots: &Roots,
) -> Result<BuiltinResult, Refusal> {
    let refuse = |refusal| warden.refuse_call(&call.tool, &call.subject, refusal);
    warden.policy().check_tool(&call.tool, &call.subject).map_err(refuse)?;
    let invalid = |why: String| refuse(invalid_arguments(&call.tool, &why));
    if call.tool == POLICY {
        Arguments::check(&[], &call.arguments).map_err(invalid)?;
        let structured = summary.to_json(warden, &call.subject, roots);
        return Ok(BuiltinResult { text: PolicySummary::to_text(&structured), structured });
    }
    let arguments = Arguments::check(CHECK_PARAMETERS, &call.arguments).map_err(invalid)?;
    let (action, about) = (arguments.text("action"), arguments.text("subject"));
    let unknown = || invalid(format!("property \"action\": expected exec, read or write, got {action:?}"));
    let action = Action::parse(action).ok_or_else(unknown)?;
    if about.trim().is_empty() {
        return Err(invalid("property \"subject\": there is nothing to check".to_owned()));
    }
    let findings = evaluate(warden, &call.subject, action, about, Path::new(""))
        .map_err(|why| invalid(format!("property \"subject\": {why}")))?;
    let narrowed = match (&findings.verdict, action) {
        (Verdict::Allow(_), Action::Read | Action::Write) => roots.check_path(about, warden, &call.subject),
        _ => None,
    };
    let findings = match narrowed {
        Some(refusal) => Findings { verdict: Verdict::Deny(refusal), ..findings },
        None => findings,
    };
    let structured = findings.to_json().map_err(|why| invalid(why.to_string()))?;
    Ok(BuiltinResult { text: findings.to_words(), structured })
}

fn invalid_arguments(tool: &str, why: &str) -> Refusal {
    Refusal::invalid_arguments(format!("invalid arguments for tool {tool:?}: {why}"))
}
