//! The table of routes, and who may come in.
//!
//! Invariant: a page of another origin and a name that is not ours are turned away token or not; a path that is not for
//! everybody does not even say whether it exists without the token.

use super::answer::{self, Answer};
use super::gate::Gate;
use super::places::Place;
use super::{api, chat, check, console, events, metrics};
use crate::entrance::misled;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use std::net::SocketAddr;
use std::sync::Arc;

/// For everybody who reaches this machine.
const PUBLIC: [&str; 3] = ["/", "/health", "/ready"];

/// Answers a request.
pub(super) async fn answer(
    gate: &Arc<Gate>,
    request: Request<Incoming>,
    from: SocketAddr,
    place: &Place,
) -> Answer {
    let path = request.uri().path().to_owned();
    {
        let staff = gate.staff();
        match misled(request.uri(), request.headers(), &staff.hosts()) {
            Some(StatusCode::FORBIDDEN) => return answer::error(StatusCode::FORBIDDEN, "foreign origin"),
            Some(status) => return answer::error(status, "not this host"),
            None => {}
        }
        let is_known = staff.token.is_shown_in(request.headers());
        if is_known {
            place.is_known();
        } else if !PUBLIC.contains(&path.as_str()) {
            return answer::error(StatusCode::UNAUTHORIZED, "unauthorized");
        }
    }
    let method = request.method().clone();
    // Whoever asks for the head alone is given no body by the connection itself.
    let is_get = method == Method::GET || (method == Method::HEAD && PUBLIC.contains(&path.as_str()));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        [""] if is_get => console::page(),
        ["health"] if is_get => api::health(gate),
        ["ready"] if is_get => api::ready(gate),
        ["reload"] if method == Method::POST => api::reload(gate).await,
        ["metrics"] if is_get => metrics::page(gate).await,
        ["openapi.json"] if is_get => api::document(),
        ["v1", "models"] if is_get => chat::models(gate),
        ["v1", "models", name] if is_get => chat::model(gate, name),
        ["v1", "chat", "completions"] if method == Method::POST => chat::complete(gate, request).await,
        ["api", "events"] if is_get => events::stream(gate, request.uri().query(), request.headers()).await,
        ["api", "sessions"] if is_get => api::sessions(gate).await,
        ["api", "approvals"] if is_get => api::approvals(gate),
        ["api", "approvals", id] if method == Method::POST => api::approve(gate, id, request, from).await,
        ["api", "check"] if method == Method::POST => check::check(gate, request).await,
        ["api", "posture"] if is_get => api::posture(gate).await,
        ["api", "cron"] if is_get => api::jobs(gate).await,
        ["reload"] | ["v1", "chat", "completions"] | ["api", "approvals", _] | ["api", "check"] => {
            answer::wrong_method("POST")
        }
        [""]
        | ["health" | "ready" | "metrics" | "openapi.json"]
        | ["v1", "models"]
        | ["v1", "models", _]
        | ["api", "events" | "sessions" | "approvals" | "posture" | "cron"] => answer::wrong_method("GET"),
        ["v1", ..] => chat::not_found(),
        _ => answer::error(StatusCode::NOT_FOUND, "not found"),
    }
}
