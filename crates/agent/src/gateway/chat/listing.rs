//! `GET /v1/models`: each agent is a model.
//!
//! Invariant: an agent is listed under its bare id.

use super::error::Fault;
use crate::gateway::answer::{self, Answer};
use crate::gateway::gate::Gate;
use http::StatusCode;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

/// All of them.
pub(in crate::gateway) fn models(gate: &Gate) -> Answer {
    let staff = gate.staff();
    let listed: Vec<Value> = staff.config.agents.iter().map(|agent| entry(gate, agent.id.as_str())).collect();
    answer::json(StatusCode::OK, &json!({"object": "list", "data": listed}))
}

/// One of them.
pub(in crate::gateway) fn model(gate: &Gate, name: &str) -> Answer {
    match gate.staff().agent(name) {
        Some(agent) => answer::json(StatusCode::OK, &entry(gate, agent.as_str())),
        None => Fault::no_model(name).answer(),
    }
}

fn entry(gate: &Gate, id: &str) -> Value {
    let created = gate.began_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({"id": id, "object": "model", "created": created, "owned_by": "picoclaw"})
}
