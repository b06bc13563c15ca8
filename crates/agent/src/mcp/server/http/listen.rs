//! Serves `/mcp` with rmcp's streamable HTTP service.

use super::auth;
use super::disconnect::GuardedBody;
use crate::http_guard::{self, BodyTimeout, ConnectionSlot, ConnectionSlots, GuessLimit, Token, WhenFull};
use crate::mcp::server::decode::MAX_MESSAGE_BYTES;
use crate::mcp::server::handler::{ClientHandler, SessionScope};
use crate::mcp::server::state::ServerState;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Connections at once.
const MAX_CONNECTIONS: usize = 128;

/// How long a session lasts without a request.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30 * 60);

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<ClientHandler, LocalSessionManager>;

/// Serves every client that shows the token, until it is dropped.
pub async fn serve(state: &Arc<ServerState>, listener: TcpListener, token: Token) {
    let (service, slots) = (service(state), ConnectionSlots::new(MAX_CONNECTIONS));
    let guesses = Arc::new(GuessLimit::default());
    let handler = move |request: Request<Incoming>, address: SocketAddr, slot: Arc<ConnectionSlot>| {
        let service = service.clone();
        let checked = auth::check(request.uri(), request.headers(), &token, address.ip(), &guesses);
        async move { handle(request, &service, checked, &slot).await }
    };
    http_guard::serve(listener, slots, WhenFull::Wait, CancellationToken::new(), handler).await;
}

fn service(state: &Arc<ServerState>) -> Service {
    let state = Arc::clone(state);
    let handler = move || {
        ClientHandler::new(&state, CancellationToken::new(), SessionScope::Handshake)
            .ok_or_else(|| io::Error::other("too many clients at once"))
    };
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_TIMEOUT);
    // `auth` checks host and origin.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES);
    StreamableHttpService::new(handler, Arc::new(sessions), config)
}

async fn handle(
    request: Request<Incoming>,
    service: &Service,
    checked: Result<(), StatusCode>,
    slot: &ConnectionSlot,
) -> Response<GuardedBody<BoxBody<Bytes, Infallible>>> {
    let disconnected = CancellationToken::new();
    let guard = disconnected.clone().drop_guard();
    let response = match checked {
        Err(status) => error(status),
        Ok(()) => {
            slot.mark_authenticated();
            let is_delete = request.method() == Method::DELETE;
            let mut request = request.map(BodyTimeout::new);
            request.extensions_mut().insert(disconnected);
            let mut response = service.handle(request).await;
            // The end of a session is complete when it is answered.
            if is_delete && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            response
        }
    };
    response.map(|body| GuardedBody::new(body, guard))
}

fn error(status: StatusCode) -> HttpResponse {
    let why = match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "foreign origin",
        StatusCode::MISDIRECTED_REQUEST => "not this host",
        StatusCode::TOO_MANY_REQUESTS => "too many wrong tokens",
        _ => "not found",
    };
    let mut response = Response::new(Full::new(Bytes::from(format!("{{\"error\":\"{why}\"}}"))).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match status {
        StatusCode::UNAUTHORIZED => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::TOO_MANY_REQUESTS => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("6"));
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}
