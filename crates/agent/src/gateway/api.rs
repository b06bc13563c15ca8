//! What the console and operators ask for.
//!
//! Invariant: nothing here changes anything but an answer to a question, and a reload.

use super::answer::{self, Answer};
use super::gate::Gate;
use super::{body, reload::ReloadError};
use crate::schedule::cron::JobScope;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use picoclaw_sandbox::approver;
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;

/// What this interface is, for programs.
const DOCUMENT: &str = include_str!("openapi.json");

/// `GET /health`.
pub(super) fn health(gate: &Gate) -> Answer {
    answer::json(StatusCode::OK, &alive(gate, "ok"))
}

/// `GET /ready`.
pub(super) fn ready(gate: &Gate) -> Answer {
    match gate.lacks() {
        None => answer::json(StatusCode::OK, &alive(gate, "ready")),
        Some(what) => {
            // What exactly is missing is for whoever reads the log: this page is for everybody.
            let check = if what == "starting" || what == "ending" { what.as_str() } else { "failed" };
            let lacking = json!({"status": "not ready", "checks": {"gateway": check}});
            answer::json(StatusCode::SERVICE_UNAVAILABLE, &lacking)
        }
    }
}

fn alive(gate: &Gate, status: &str) -> Value {
    let seconds = gate.began.elapsed().as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let uptime = format!("{hours}h{minutes}m{}s", seconds % 60);
    json!({"status": status, "uptime": uptime, "pid": std::process::id()})
}

/// `POST /reload`.
pub(super) async fn reload(gate: &Arc<Gate>) -> Answer {
    match gate.reload().await {
        Ok(()) => answer::json(StatusCode::OK, &json!({"status": "reload triggered", "reloaded": true})),
        Err(why) => {
            let kept = matches!(why, ReloadError::Kept(_));
            let told = json!({"error": why.to_string(), "reloaded": false, "kept": kept});
            answer::json(StatusCode::INTERNAL_SERVER_ERROR, &told)
        }
    }
}

/// `GET /openapi.json`.
pub(super) fn document() -> Answer {
    answer::whole(StatusCode::OK, "application/json", DOCUMENT)
}

/// `GET /api/approvals`.
pub(super) fn approvals(gate: &Gate) -> Answer {
    answer::json(StatusCode::OK, &json!({"items": gate.approvals.list()}))
}

/// What a person says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    hash: String,
    answer: Choice,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Once,
    Session,
    No,
}

/// `POST /api/approvals/{id}`.
pub(super) async fn approve(gate: &Gate, id: &str, request: Request<Incoming>, from: SocketAddr) -> Answer {
    let said: Said = match body::read(request).await {
        Ok(said) => said,
        Err(why) => return why,
    };
    let (answer, word) = match said.answer {
        Choice::Once => (approver::Answer::Once, "once"),
        Choice::Session => (approver::Answer::Session, "session"),
        Choice::No => (approver::Answer::No, "no"),
    };
    let by = format!("whoever showed the gateway's token, from {}", from.ip());
    let Ok(number) = id.parse::<u64>() else {
        return answer::error(StatusCode::NOT_FOUND, "no such question is open");
    };
    match gate.approvals.answer(number, &said.hash, answer, by) {
        Ok(()) => {
            gate.counts.approval(word);
            gate.bulletin.tell("approval", &json!({"type": "answered", "id": id, "answer": word}));
            answer::json(StatusCode::OK, &json!({"id": id, "answer": word}))
        }
        Err(why) => {
            let status = match why {
                super::approvals::Unanswerable::Gone => StatusCode::NOT_FOUND,
                super::approvals::Unanswerable::Changed => StatusCode::CONFLICT,
            };
            answer::error(status, &why.to_string())
        }
    }
}

/// `GET /api/sessions`.
pub(super) async fn sessions(gate: &Gate) -> Answer {
    let staff = gate.staff();
    let listed = tokio::task::spawn_blocking(move || {
        let mut items = Vec::new();
        for agent in &staff.config.agents {
            for session in staff.runner.sessions().list(&agent.id)? {
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
        Ok(Ok(items)) => answer::json(StatusCode::OK, &json!({"items": items})),
        Ok(Err(why)) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
        Err(why) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

/// `GET /api/posture`.
pub(super) async fn posture(gate: &Gate) -> Answer {
    let look = Arc::clone(&gate.staff().posture);
    match tokio::task::spawn_blocking(move || look()).await {
        Ok(value) => answer::json(StatusCode::OK, &value),
        Err(why) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

/// `GET /api/cron`.
pub(super) async fn jobs(gate: &Gate) -> Answer {
    let store = gate.store.clone();
    let listed = tokio::task::spawn_blocking(move || store.list(JobScope::All)).await;
    match listed {
        Ok(Ok(jobs)) => answer::json(StatusCode::OK, &json!({"items": jobs})),
        Ok(Err(why)) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
        Err(why) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}
