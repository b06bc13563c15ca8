//! HTTP responses. Each carries the headers that forbid sniffing, framing, caching and referrers.

use crate::tokens::Scope;
use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// A response of the gateway.
pub(super) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (http::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (http::header::X_FRAME_OPTIONS, "DENY"),
    (http::header::REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

/// A response with a complete body.
pub(super) fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> HttpResponse {
    build(status, content_type, Full::new(body.into()).boxed())
}

/// A stream of server-sent events; `guard` is dropped with the response.
pub(super) fn event_stream<G: Send + Sync + 'static>(
    chunks: mpsc::Receiver<Bytes>,
    guard: G,
) -> HttpResponse {
    let body = ChannelBody { chunks, _guard: guard }.boxed();
    let mut response = build(StatusCode::OK, "text/event-stream; charset=utf-8", body);
    // Keeps a buffering proxy from holding events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A JSON response.
pub(super) fn json(status: StatusCode, value: &Value) -> HttpResponse {
    full(status, "application/json", value.to_string())
}

/// `{"error": why}`.
pub(super) fn error(status: StatusCode, why: &str) -> HttpResponse {
    let mut response = json(status, &json!({"error": why}));
    match status {
        StatusCode::UNAUTHORIZED => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The rest of the request is not read.
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}

/// 403 for a token without this scope.
pub(super) fn forbidden(scope: Scope) -> HttpResponse {
    json(StatusCode::FORBIDDEN, &json!({"error": "forbidden", "scope": scope.as_str()}))
}

/// 429 for an address that sent too many wrong tokens. The connection ends: the next guess needs a
/// new one.
pub(super) fn too_many_requests(wait: Duration) -> HttpResponse {
    let mut response = error(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens");
    let seconds = HeaderValue::from(wait.as_secs().max(1));
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// 405 with the allowed method.
pub(super) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn build(status: StatusCode, content_type: &'static str, body: BoxBody<Bytes, Infallible>) -> HttpResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A body fed by a channel, and a guard that lives as long.
struct ChannelBody<G> {
    chunks: mpsc::Receiver<Bytes>,
    _guard: G,
}

// The guard is never pinned.
impl<G> Unpin for ChannelBody<G> {}

impl<G> Body for ChannelBody<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.chunks.poll_recv(cx).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}
