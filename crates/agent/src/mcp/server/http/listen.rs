//! Listening: connections in, requests to the porch.
//!
//! Invariant: the number of connections is bounded, and each is held to its time.

use super::door;
use super::watch::{self, Watched};
use crate::entrance::{Flowing, PATIENCE, Timely, Token};
use crate::mcp::server::frame;
use crate::mcp::server::porch::{Porch, Tenure};
use crate::mcp::server::premises::Premises;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at once.
const CONNECTIONS: usize = 128;

/// How long a session without a word from its client lasts.
const SESSION: Duration = Duration::from_secs(30 * 60);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Porch, LocalSessionManager>;

/// Serves everyone who shows the token, until the listener fails.
pub async fn serve(premises: &Arc<Premises>, listener: TcpListener, token: Token) -> io::Result<()> {
    let service = service(premises);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // A client that is gone again, or a moment without descriptors, is no reason to stop listening.
            Err(why) => {
                tracing::warn!(target: "mcp", error = %why, "Could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let (service, token) = (service.clone(), token.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let (service, token) = (service.clone(), token.clone());
                async move { Ok::<_, Infallible>(answer(request, &service, &token).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(Flowing::new(stream)), answer);
            if let Err(why) = connection.await {
                tracing::debug!(target: "mcp", error = %why, "A connection ended early");
            }
            drop(place);
        });
    }
}

fn service(premises: &Arc<Premises>) -> Service {
    let premises = Arc::clone(premises);
    let porch = move || {
        Porch::new(&premises, CancellationToken::new(), Tenure::Handshake)
            .ok_or_else(|| io::Error::other("too many clients at once"))
    };
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION);
    // Host and origin are checked at the door, where the answer is ours to choose.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(frame::MOST);
    StreamableHttpService::new(porch, Arc::new(sessions), config)
}

async fn answer(
    request: Request<Incoming>,
    service: &Service,
    token: &Token,
) -> Response<Watched<BoxBody<Bytes, Infallible>>> {
    let (halt, guard) = watch::over();
    let answer = match door::refusal(request.uri(), request.headers(), token) {
        Some(status) => turned_away(status),
        None => {
            let is_farewell = request.method() == http::Method::DELETE;
            let mut request = request.map(Timely::new);
            request.extensions_mut().insert(halt);
            let mut answer = service.handle(request).await;
            // A session that is over is over: there is nothing left to accept.
            if is_farewell && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
            answer
        }
    };
    answer.map(|body| Watched::new(body, guard))
}

fn turned_away(status: StatusCode) -> Answer {
    let why = match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "foreign origin",
        StatusCode::MISDIRECTED_REQUEST => "not this host",
        _ => "not found",
    };
    let body = Full::new(Bytes::from(format!("{{\"error\":\"{why}\"}}"))).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}
