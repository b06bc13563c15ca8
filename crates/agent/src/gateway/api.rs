//! The endpoints of the console and of operators.

use super::approvals::AnswerError;
use super::reload::ReloadError;
use super::request;
use super::response::{self, HttpResponse};
use super::server::Gateway;
use crate::question;
use crate::schedule::cron::JobScope;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use picoclaw_sandbox::permit::{Answer, Approval};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const OPENAPI: &str = include_str!("openapi.json");

/// `GET /health`.
pub(super) fn health(gateway: &Gateway) -> HttpResponse {
    response::json(StatusCode::OK, &liveness(gateway, "ok"))
}

/// `GET /ready`.
pub(super) fn ready(gateway: &Gateway) -> HttpResponse {
    match gateway.not_ready_reason() {
        None => response::json(StatusCode::OK, &liveness(gateway, "ready")),
        Some(reason) => {
            // This page is public; the details are in the log.
            let check = if reason == "starting" || reason == "ending" { reason.as_str() } else { "failed" };
            let not_ready = json!({"status": "not ready", "checks": {"gateway": check}});
            response::json(StatusCode::SERVICE_UNAVAILABLE, &not_ready)
        }
    }
}

fn liveness(gateway: &Gateway, status: &str) -> Value {
    let seconds = gateway.started.elapsed().as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let uptime = format!("{hours}h{minutes}m{}s", seconds % 60);
    json!({"status": status, "uptime": uptime, "pid": std::process::id()})
}

/// `POST /reload`.
pub(super) async fn reload(gateway: &Arc<Gateway>) -> HttpResponse {
    match gateway.reload().await {
        Ok(()) => response::json(StatusCode::OK, &json!({"status": "reload triggered", "reloaded": true})),
        Err(why) => {
            let kept = matches!(why, ReloadError::Kept(_));
            let error = json!({"error": why.to_string(), "reloaded": false, "kept": kept});
            response::json(StatusCode::INTERNAL_SERVER_ERROR, &error)
        }
    }
}

/// `GET /openapi.json`.
pub(super) fn openapi() -> HttpResponse {
    response::full(StatusCode::OK, "application/json", OPENAPI)
}

/// `GET /api/approvals`.
pub(super) fn approvals(gateway: &Gateway) -> HttpResponse {
    response::json(StatusCode::OK, &json!({"items": gateway.approvals.list()}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalRequest {
    hash: String,
    answer: Choice,
    /// With `no`: what the model is told.
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Once,
    Session,
    Always,
    No,
}

/// `POST /api/approvals/{id}`.
pub(super) async fn approve(
    gateway: &Gateway,
    id: &str,
    request: Request<Incoming>,
    principal: &str,
) -> HttpResponse {
    let given: ApprovalRequest = match request::read_json(request).await {
        Ok(given) => given,
        Err(response) => return response,
    };
    let (approval, word) = match given.answer {
        Choice::Once => (Approval::Once, "once"),
        Choice::Session => (Approval::Session, "session"),
        Choice::Always => (Approval::Always, "always"),
        Choice::No => (Approval::No, "no"),
    };
    let Ok(number) = id.parse::<u64>() else {
        return response::error(StatusCode::NOT_FOUND, "no such question is open");
    };
    let reason = given.reason.as_deref().and_then(question::reason).filter(|_| approval == Approval::No);
    let answer = Answer { approval, by: principal.to_owned(), reason };
    match gateway.approvals.answer(number, &given.hash, answer) {
        Ok(()) => {
            gateway.counters.approval(word);
            gateway.events.publish("approval", &json!({"type": "answered", "id": id, "answer": word}));
            response::json(StatusCode::OK, &json!({"id": id, "answer": word}))
        }
        Err(why) => {
            let status = match why {
                AnswerError::NotOpen => StatusCode::NOT_FOUND,
                AnswerError::HashMismatch => StatusCode::CONFLICT,
            };
            response::error(status, &why.to_string())
        }
    }
}

/// `GET /api/sessions`.
pub(super) async fn sessions(gateway: &Gateway) -> HttpResponse {
    let services = gateway.services();
    let listed = tokio::task::spawn_blocking(move || {
        let mut items = Vec::new();
        for agent in &services.config.agents {
            for session in services.runner.sessions().list(&agent.id)? {
                items.push(json!({
                    "name": session.name,
                    "agent": session.agent.as_str(),
                    "messages": session.messages,
                    "updated_at": session.updated_at,
                }));
            }
        }
        Ok::<_, crate::sessions::SessionError>(items)
    });
    match listed.await {
        Ok(Ok(items)) => response::json(StatusCode::OK, &json!({"items": items})),
        Ok(Err(why)) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
        Err(why) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

/// `GET /api/posture`.
pub(super) async fn posture(gateway: &Gateway) -> HttpResponse {
    let posture = Arc::clone(&gateway.services().posture);
    match tokio::task::spawn_blocking(move || posture()).await {
        Ok(value) => response::json(StatusCode::OK, &value),
        Err(why) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

/// `GET /api/cron`.
pub(super) async fn jobs(gateway: &Gateway) -> HttpResponse {
    let store = gateway.store.clone();
    let listed = tokio::task::spawn_blocking(move || store.list(JobScope::All)).await;
    match listed {
        Ok(Ok(jobs)) => response::json(StatusCode::OK, &json!({"items": jobs})),
        Ok(Err(why)) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
        Err(why) => response::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}
