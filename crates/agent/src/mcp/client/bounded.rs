//! Requests to a server at an address, with answers that end.
//!
//! The transport bounds events and not bodies: a server could answer with one that never ends. Here every answer to a
//! request has a limit, whichever way it comes.
//!
//! Invariant: no answer takes more memory than its limit, and no error holds what was sent.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Limited};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

/// The longest answer in one piece.
const LONGEST_BODY: usize = 4 << 20;

/// The longest answer in events, with everything that is told on the way.
const LONGEST_STREAM: usize = 32 << 20;

/// The longest explanation of a refusal that is read.
const LONGEST_REFUSAL: usize = 64 << 10;

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Headers that the protocol sets by itself.
pub(super) const RESERVED: [&str; 4] = ["accept", SESSION, "mcp-protocol-version", "last-event-id"];

/// A client whose answers end.
#[derive(Clone)]
pub(super) struct Bounded(pub(super) reqwest::Client);

type Failed = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = Pin<Box<dyn futures_core::Stream<Item = Result<Sse, SseError>> + Send>>;

impl StreamableHttpClient for Bounded {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let mut request = self.0.post(&*uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = &session {
            request = request.header(SESSION, &**session);
        }
        let response = http::Response::from(request.json(&message).send().await.map_err(Failed::Client)?);
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if session.is_some() => return Err(Failed::SessionExpired),
            _ => {}
        }
        let text = |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let given = text(HeaderName::from_static(SESSION)).map(str::to_owned);
        let expects_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if !status.is_success() {
            let body = whole(response.into_body(), LONGEST_REFUSAL).await.unwrap_or_default();
            return refused(status, &body, &message, session.is_some())
                .map(|message| StreamableHttpPostResponse::Json(message, given))
                .ok_or_else(|| unexpected(format!("HTTP {status}")));
        }
        if kind.starts_with(EVENTS) {
            let body = Limited::new(response.into_body(), LONGEST_STREAM).map_err(std::io::Error::other);
            let events: Events = Box::pin(SseStream::new(body));
            return Ok(StreamableHttpPostResponse::Sse(events, given));
        }
        let body = whole(response.into_body(), LONGEST_BODY).await?;
        match serde_json::from_slice(&body) {
            Ok(message) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(message, given)),
            // Nobody waits for an answer to these; some servers say something all the same.
            _ if !expects_answer => Ok(StreamableHttpPostResponse::Accepted),
            _ if kind.starts_with(JSON) => Err(unexpected("no message of the protocol".to_owned())),
            _ => Err(Failed::UnexpectedContentType(Some(kind))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        self.0.delete_session(uri, session, bearer, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failed> {
        self.0.get_stream(uri, session, last, bearer, headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        bearer: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, Failed> {
        self.0.get_stream_with_max_sse_event_size(uri, session, last, bearer, headers, most).await
    }
}

async fn whole(body: reqwest::Body, most: usize) -> Result<bytes::Bytes, Failed> {
    let read = Limited::new(body, most).collect().await;
    let read =
        read.map_err(|_| unexpected(format!("an answer that broke off, or has more than {most} bytes")))?;
    Ok(read.to_bytes())
}

/// A refusal that is an answer all the same: an error of the protocol, or that of a server which knows no `server/discover`
/// and so speaks the older revision.
fn refused(
    status: StatusCode,
    body: &[u8],
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Option<ServerJsonRpcMessage> {
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return None;
    }
    let told = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(told)) => Some(told),
        _ => None,
    };
    let ClientJsonRpcMessage::Request(request) = message else {
        return told.map(ServerJsonRpcMessage::Error);
    };
    let discovers = matches!(request.request, ClientRequest::DiscoverRequest(_));
    if discovers && !in_session && status.is_client_error() {
        let plain = || ErrorData::invalid_request(format!("HTTP {status}"), None);
        let error = told.map_or_else(plain, |told| told.error);
        return Some(ServerJsonRpcMessage::error(error, Some(request.id.clone())));
    }
    told.map(ServerJsonRpcMessage::Error)
}

fn unexpected(what: String) -> Failed {
    Failed::UnexpectedServerResponse(what.into())
}
