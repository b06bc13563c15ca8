//! `POST /api/check`: what would happen, and what would allow it.
//!
//! Invariant: nothing runs and nothing is recorded; no host is looked up.

use super::answer::{self, Answer};
use super::body;
use super::gate::Gate;
use crate::dry_run::{Action, evaluate};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use picoclaw_policy::{AgentId, Origin, Subject};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// What is asked about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action: Wish,
    /// A command, or a path.
    subject: String,
    /// On whose behalf; the default agent's otherwise.
    agent: Option<String>,
    /// Where the command would start; the workspace otherwise.
    #[serde(default)]
    cwd: PathBuf,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wish {
    Exec,
    Read,
    Write,
}

/// Asks the desk.
pub(super) async fn check(gate: &Gate, request: Request<Incoming>) -> Answer {
    let asked: Asked = match body::read(request).await {
        Ok(asked) => asked,
        Err(why) => return why,
    };
    let staff = gate.staff();
    let agent = match &asked.agent {
        None => Some(staff.config.default_agent.clone()),
        Some(name) => staff.agent(name),
    };
    let Some(agent) = agent else { return answer::error(StatusCode::NOT_FOUND, "there is no such agent") };
    let warden = staff.hall.warden().clone();
    let found = tokio::task::spawn_blocking(move || consider(&warden, agent, &asked)).await;
    match found {
        Ok(Ok(found)) => answer::json(StatusCode::OK, &found),
        Ok(Err(why)) => answer::error(StatusCode::BAD_REQUEST, &why),
        Err(why) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

fn consider(
    warden: &picoclaw_sandbox::warden::Warden,
    agent: AgentId,
    asked: &Asked,
) -> Result<Value, String> {
    let action = match asked.action {
        Wish::Exec => Action::Exec,
        Wish::Read => Action::Read,
        Wish::Write => Action::Write,
    };
    if asked.subject.trim().is_empty() {
        return Err("`subject`: there is nothing to check".to_owned());
    }
    for (name, bytes) in
        [("subject", asked.subject.as_bytes()), ("cwd", asked.cwd.as_os_str().as_encoded_bytes())]
    {
        if bytes.contains(&0) {
            return Err(format!("`{name}` contains a NUL byte"));
        }
    }
    let subject = Subject::root(Origin::Http, agent, "http:check");
    let found =
        evaluate(warden, &subject, action, &asked.subject, &asked.cwd).map_err(|why| why.to_string())?;
    found.to_json().map_err(|why| why.to_string())
}
