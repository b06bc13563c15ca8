//! `GET /v1/models`: each agent is a model, listed under its id.

use super::error::ApiError;
use crate::gateway::response::{self, HttpResponse};
use crate::gateway::server::Gateway;
use http::StatusCode;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

/// All models.
pub(in crate::gateway) fn models(gateway: &Gateway) -> HttpResponse {
    let services = gateway.services();
    let listed: Vec<Value> =
        services.config.agents.iter().map(|agent| entry(gateway, agent.id.as_str())).collect();
    response::json(StatusCode::OK, &json!({"object": "list", "data": listed}))
}

/// One model.
pub(in crate::gateway) fn model(gateway: &Gateway, name: &str) -> HttpResponse {
    match gateway.services().agent(name) {
        Some(agent) => response::json(StatusCode::OK, &entry(gateway, agent.as_str())),
        None => ApiError::no_model(name).response(),
    }
}

fn entry(gateway: &Gateway, id: &str) -> Value {
    let created = gateway.started_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({"id": id, "object": "model", "created": created, "owned_by": "picoclaw"})
}
