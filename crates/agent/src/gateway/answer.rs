//! What goes back to a client.
//!
//! Invariant: every answer is marked so that no browser guesses its kind, frames it, keeps it or lets another page read it.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// An answer.
pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What a page of another origin may not do with any answer.
const GUARDS: [(HeaderName, &str); 4] = [
    (http::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (http::header::X_FRAME_OPTIONS, "DENY"),
    (http::header::REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

/// An answer with this body.
pub(super) fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    dressed(status, kind, Full::new(body.into()).boxed())
}

/// An answer that comes piece by piece.
pub(super) fn flowing<G: Send + Sync + 'static>(pieces: mpsc::Receiver<Bytes>, guard: G) -> Answer {
    let mut answer =
        dressed(StatusCode::OK, "text/event-stream; charset=utf-8", Feed { pieces, _guard: guard }.boxed());
    // Proxies that collect an answer before they pass it on would make a live stream dead.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, value: &Value) -> Answer {
    whole(status, "application/json", value.to_string())
}

/// A no with its reason.
pub(super) fn error(status: StatusCode, why: &str) -> Answer {
    let mut answer = json(status, &json!({"error": why}));
    match status {
        StatusCode::UNAUTHORIZED => {
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // What is left of the request is not read.
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    answer
}

/// Another method would do.
pub(super) fn wrong_method(allowed: &'static str) -> Answer {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn dressed(status: StatusCode, kind: &'static str, body: BoxBody<Bytes, Infallible>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A body that somebody else fills; whatever guards it is dropped with it.
struct Feed<G> {
    pieces: mpsc::Receiver<Bytes>,
    _guard: G,
}

// The guard is never reached through a pin.
impl<G> Unpin for Feed<G> {}

impl<G> Body for Feed<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.pieces.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}
