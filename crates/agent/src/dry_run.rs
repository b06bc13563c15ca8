//! What the policy would say to an action (`picoclaw check`). Nothing runs, connects or is
//! recorded.

use picoclaw_policy::config::IsolationConfig;
use picoclaw_policy::network::ConnectIntent;
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{Access, Refusal, Subject, Verdict};
use picoclaw_sandbox::files::{Read, Write};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::outbound::{Outbound, WaitLimit};
use picoclaw_sandbox::printable_lines;
use picoclaw_sandbox::warden::{LocateError, Warden};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Running a command.
    Exec,
    /// Reading a file or listing a directory.
    Read,
    /// Writing a file.
    Write,
}

impl Action {
    /// Parses the name of an action.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "exec" => Self::Exec,
            "read" => Self::Read,
            "write" => Self::Write,
            _ => return None,
        })
    }
}

/// The verdict on an action.
#[derive(Debug)]
pub struct Findings {
    /// The verdict.
    pub verdict: Verdict,
    /// What the guard found, where a command was asked about.
    pub judgement: Option<Judgement>,
}

/// Evaluates access to a path, or a command that would start in `cwd`.
pub fn evaluate(
    warden: &Warden,
    subject: &Subject,
    action: Action,
    about: &str,
    cwd: &Path,
) -> Result<Findings, LocateError> {
    let path = Path::new(about);
    Ok(match action {
        Action::Read => {
            let effect = Read(warden.locate(Access::Read, path, subject)?);
            Findings { verdict: warden.evaluate("read_file", subject, &effect), judgement: None }
        }
        Action::Write => {
            let effect = Write(warden.locate(Access::Write, path, subject)?);
            Findings { verdict: warden.evaluate("write_file", subject, &effect), judgement: None }
        }
        Action::Exec => {
            let effect = warden.prepare_command(about, cwd, subject)?;
            let verdict = warden.evaluate("exec", subject, &effect);
            Findings { verdict, judgement: Some(effect.judgement().clone()) }
        }
    })
}

/// The longest that a DNS lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Evaluates access to a web address. The DNS lookup is visible to others, so models cannot ask for
/// it.
pub fn evaluate_address(warden: &Warden, subject: &Subject, url: &str, outbound: &Outbound) -> Findings {
    let bound = WaitLimit::new(LOOKUP_TIMEOUT, &CancelToken::new());
    let effect = outbound.resolve(warden, "web_fetch", subject, ConnectIntent::unresolved(url), &bound);
    Findings { verdict: warden.evaluate("web_fetch", subject, &effect), judgement: None }
}

/// Evaluates a connection of a command to `HOST` or `HOST:PORT`; `None` if it is neither.
pub fn evaluate_connection(isolation: &IsolationConfig, asked: &str) -> Option<Findings> {
    let (host, port) = match asked.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0)?)),
        None => (asked, None),
    };
    let is_host = !host.is_empty() && !host.contains(['/', ':', '[', ' ']);
    is_host.then(|| Findings { verdict: isolation.judge_connection(host, port), judgement: None })
}

impl Findings {
    /// The verdict for programs.
    pub fn to_json(&self) -> serde_json::Result<Value> {
        let mut answer = match &self.verdict {
            Verdict::Allow(grant) => json!({"verdict": "allow", "rule": grant.rule}),
            Verdict::Ask(question) => refused("ask", &question.refusal),
            Verdict::Deny(refusal) => refused("deny", refusal),
        };
        if let Some(judgement) = &self.judgement {
            let explained = serde_json::to_value(judgement.explanation())?;
            for key in ["finding", "others", "commands"] {
                answer[key] = explained[key].clone();
            }
        }
        Ok(answer)
    }

    /// The verdict for people and models.
    pub fn to_words(&self) -> String {
        let mut text = match &self.verdict {
            Verdict::Allow(grant) => format!("allow\nrule: {}", grant.rule),
            Verdict::Ask(question) => format!("ask\n{}", reasons(&question.refusal)),
            Verdict::Deny(refusal) => format!("deny\n{}", reasons(refusal)),
        };
        for command in self.judgement.iter().flat_map(|judgement| &judgement.commands) {
            let argv: Vec<_> = command.argv.iter().map(|word| format!("{word:?}")).collect();
            let rules = if command.rules.is_empty() {
                String::new()
            } else {
                format!("  <- {}", command.rules.join(", "))
            };
            text.push_str(&format!(
                "\ncommand: {}  (in {}){rules}",
                argv.join(" "),
                command.cwd.join(" or ")
            ));
        }
        printable_lines(&text).into_owned()
    }
}

fn refused(verdict: &str, no: &Refusal) -> Value {
    let mut members = no.to_json();
    members["verdict"] = verdict.into();
    members["sentence"] = no.sentence.as_str().into();
    members
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
