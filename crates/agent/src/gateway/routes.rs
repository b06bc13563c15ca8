//! The routes, and the checks before them: host, origin, token and scope.
//!
//! Without a token a private path answers 401 whether it exists or not.

use super::access::{Authentication, Principal};
use super::response::{self, HttpResponse};
use super::server::Gateway;
use super::{api, chat, check, console, events, metrics};
use crate::http_guard::{self, ConnectionSlot, WhenFull, check_host_and_origin};
use crate::tokens::Scope;
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
    match check_host_and_origin(request.uri(), request.headers(), &gateway.services().allowed_hosts()) {
        Err(StatusCode::FORBIDDEN) => return response::error(StatusCode::FORBIDDEN, "foreign origin"),
        Err(status) => return response::error(status, "not this host"),
        Ok(()) => {}
    }
    if PUBLIC.contains(&path.as_str()) {
        return public(gateway, request.method(), &path);
    }
    let principal = match gateway.access.authenticate(request.headers(), address) {
        Authentication::Accepted(principal) => principal,
        Authentication::Refused => return response::error(StatusCode::UNAUTHORIZED, "unauthorized"),
        Authentication::Throttled(wait) => return response::too_many_requests(wait),
    };
    slot.mark_authenticated();
    private(gateway, request, &path, principal).await
}

/// The paths that need no token.
fn public(gateway: &Gateway, method: &Method, path: &str) -> HttpResponse {
    // hyper sends no body in response to HEAD.
    if method != Method::GET && method != Method::HEAD {
        return response::method_not_allowed("GET");
    }
    match path {
        "/health" => api::health(gateway),
        "/ready" => api::ready(gateway),
        _ => console::page(),
    }
}

/// The scopes of which a path needs one. A path that does not exist needs none.
fn needed_scopes(segments: &[&str]) -> &'static [Scope] {
    match segments {
        ["v1", ..] => &[Scope::Chat],
        ["reload"] => &[Scope::Admin],
        ["api", "approvals", _] => &[Scope::Approve],
        // The questions have to be seen to be answered.
        ["api", "approvals"] => &[Scope::Watch, Scope::Approve],
        ["api", "events" | "sessions" | "check" | "posture" | "cron"] | ["metrics"] => &[Scope::Watch],
        _ => &[],
    }
}

/// The paths that need a token.
async fn private(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    path: &str,
    principal: Principal,
) -> HttpResponse {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let needed = needed_scopes(&segments);
    if let Some(first) = needed.first()
        && !needed.iter().any(|scope| principal.may(*scope))
    {
        return response::forbidden(*first);
    }
    let (is_get, is_post) = (request.method() == Method::GET, request.method() == Method::POST);
    match segments.as_slice() {
        ["reload"] if is_post => api::reload(gateway).await,
        ["metrics"] if is_get => metrics::page(gateway).await,
        ["openapi.json"] if is_get => api::openapi(),
        ["v1", "models"] if is_get => chat::models(gateway),
        ["v1", "models", name] if is_get => chat::model(gateway, name),
        ["v1", "chat", "completions"] if is_post => chat::completions(gateway, request, principal).await,
        ["api", "events"] if is_get => {
            events::stream(gateway, request.uri().query(), request.headers(), principal).await
        }
        ["api", "sessions"] if is_get => api::sessions(gateway).await,
        ["api", "approvals"] if is_get => api::approvals(gateway),
        ["api", "approvals", id] if is_post => api::approve(gateway, id, request, &principal.name).await,
        ["api", "check"] if is_post => check::check(gateway, request).await,
        ["api", "posture"] if is_get => api::posture(gateway).await,
        ["api", "cron"] if is_get => api::jobs(gateway).await,
        ["reload"] | ["v1", "chat", "completions"] | ["api", "approvals", _] | ["api", "check"] => {
            response::method_not_allowed("POST")
        }
        ["metrics" | "openapi.json"]
        | ["v1", "models"]
        | ["v1", "models", _]
        | ["api", "events" | "sessions" | "approvals" | "posture" | "cron"] => {
            response::method_not_allowed("GET")
        }
        ["v1", ..] => chat::not_found(),
        _ => response::error(StatusCode::NOT_FOUND, "not found"),
    }
}
