//! The routes, and the checks before them: host, origin and token.
//!
//! Without the token a private path answers 401 whether it exists or not.

use super::response::{self, HttpResponse};
use super::server::Gateway;
use super::{api, chat, check, console, events, metrics};
use crate::http_guard::{self, ConnectionSlot, WhenFull, check_host_and_origin};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Paths that need no token.
const PUBLIC: [&str; 3] = ["/", "/health", "/ready"];

/// Serves every connection of `listener` until the gateway shuts down.
pub async fn listen(gateway: Arc<Gateway>, listener: TcpListener) {
    let (slots, shutdown) = (gateway.connections.clone(), gateway.shutdown.clone());
    let handler = move |request, address, slot: Arc<ConnectionSlot>| {
        let gateway = Arc::clone(&gateway);
        async move {
            let response = handle(&gateway, request, address, &slot).await;
            gateway.counters.response(response.status());
            response
        }
    };
    http_guard::serve(listener, slots, WhenFull::Close, shutdown, handler).await;
}

async fn handle(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    address: SocketAddr,
    slot: &ConnectionSlot,
) -> HttpResponse {
    let path = request.uri().path().to_owned();
    {
        let services = gateway.services();
        match check_host_and_origin(request.uri(), request.headers(), &services.allowed_hosts()) {
            Err(StatusCode::FORBIDDEN) => return response::error(StatusCode::FORBIDDEN, "foreign origin"),
            Err(status) => return response::error(status, "not this host"),
            Ok(()) => {}
        }
        if services.token.is_in(request.headers()) {
            slot.mark_authenticated();
        } else if !PUBLIC.contains(&path.as_str()) {
            return response::error(StatusCode::UNAUTHORIZED, "unauthorized");
        }
    }
    let method = request.method().clone();
    // hyper sends no body in response to HEAD.
    let is_get = method == Method::GET || (method == Method::HEAD && PUBLIC.contains(&path.as_str()));
    let is_post = method == Method::POST;
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        [""] if is_get => console::page(),
        ["health"] if is_get => api::health(gateway),
        ["ready"] if is_get => api::ready(gateway),
        ["reload"] if is_post => api::reload(gateway).await,
        ["metrics"] if is_get => metrics::page(gateway).await,
        ["openapi.json"] if is_get => api::openapi(),
        ["v1", "models"] if is_get => chat::models(gateway),
        ["v1", "models", name] if is_get => chat::model(gateway, name),
        ["v1", "chat", "completions"] if is_post => chat::completions(gateway, request).await,
        ["api", "events"] if is_get => {
            events::stream(gateway, request.uri().query(), request.headers()).await
        }
        ["api", "sessions"] if is_get => api::sessions(gateway).await,
        ["api", "approvals"] if is_get => api::approvals(gateway),
        ["api", "approvals", id] if is_post => api::approve(gateway, id, request, address).await,
        ["api", "check"] if is_post => check::check(gateway, request).await,
        ["api", "posture"] if is_get => api::posture(gateway).await,
        ["api", "cron"] if is_get => api::jobs(gateway).await,
        ["reload"] | ["v1", "chat", "completions"] | ["api", "approvals", _] | ["api", "check"] => {
            response::method_not_allowed("POST")
        }
        [""]
        | ["health" | "ready" | "metrics" | "openapi.json"]
        | ["v1", "models"]
        | ["v1", "models", _]
        | ["api", "events" | "sessions" | "approvals" | "posture" | "cron"] => {
            response::method_not_allowed("GET")
        }
        ["v1", ..] => chat::not_found(),
        _ => response::error(StatusCode::NOT_FOUND, "not found"),
    }
}
