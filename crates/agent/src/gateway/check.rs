//! `POST /api/check`: a dry run of the policy. Nothing runs, nothing is recorded, no host is looked
//! up.

use super::request;
use super::response::{self, HttpResponse};
use super::server::Gateway;
use crate::dry_run::{Action, evaluate};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::warden::Warden;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRequest {
    action: CheckAction,
    /// A command or a path.
    subject: String,
    /// The default agent when absent.
    agent: Option<String>,
    /// Where the command would start; the workspace when absent.
    #[serde(default)]
    cwd: PathBuf,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CheckAction {
    Exec,
    Read,
    Write,
}

/// Judges the described action.
pub(super) async fn check(gateway: &Gateway, request: Request<Incoming>) -> HttpResponse {
    let asked: CheckRequest = match request::read_json(request).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    let services = gateway.services();
    let agent = match &asked.agent {
        None => Some(services.config.default_agent.clone()),
        Some(name) => services.agent(name),
    };
    let Some(agent) = agent else { return response::error(StatusCode::NOT_FOUND, "there is no such agent") };
    let warden = services.executor.warden().clone();
    let found = tokio::task::spawn_blocking(move || judge(&warden, agent, &asked)).await;
    match found {
        Ok(Ok(found)) => response::json(StatusCode::OK, &found),
        Ok(Err(why)) => response::error(StatusCode::BAD_REQUEST, &why),
        Err(why) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

fn judge(warden: &Warden, agent: AgentId, asked: &CheckRequest) -> Result<Value, String> {
    let action = match asked.action {
        CheckAction::Exec => Action::Exec,
        CheckAction::Read => Action::Read,
        CheckAction::Write => Action::Write,
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
