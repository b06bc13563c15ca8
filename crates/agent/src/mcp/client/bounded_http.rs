//! An HTTP client for MCP servers with bounded responses. rmcp's own client bounds events but not
//! bodies, so that a server could respond without end.

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

/// The largest JSON response.
const MAX_BODY_BYTES: usize = 4 << 20;

/// The largest event stream of one response.
const MAX_STREAM_BYTES: usize = 32 << 20;

/// The largest error body that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

const SESSION_HEADER: &str = "mcp-session-id";
const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Headers that the transport sets.
pub(super) const RESERVED_HEADERS: [&str; 4] =
    ["accept", SESSION_HEADER, "mcp-protocol-version", "last-event-id"];

/// A client with bounded responses.
#[derive(Clone)]
pub(super) struct BoundedHttp(pub(super) reqwest::Client);

type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = Pin<Box<dyn futures_core::Stream<Item = Result<Sse, SseError>> + Send>>;

impl StreamableHttpClient for BoundedHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.0.post(&*uri).header(ACCEPT, format!("{EVENT_STREAM}, {JSON}"));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = &session {
            request = request.header(SESSION_HEADER, &**session);
        }
        let response = http::Response::from(request.json(&message).send().await.map_err(HttpError::Client)?);
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if session.is_some() => return Err(HttpError::SessionExpired),
            _ => {}
        }
        let text = |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
        let content_type = text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let new_session = text(HeaderName::from_static(SESSION_HEADER)).map(str::to_owned);
        let expects_response = matches!(message, ClientJsonRpcMessage::Request(_));
        if !status.is_success() {
            let body = collect(response.into_body(), MAX_ERROR_BYTES).await.unwrap_or_default();
            return error_message(status, &body, &message, session.is_some())
                .map(|message| StreamableHttpPostResponse::Json(message, new_session))
                .ok_or_else(|| unexpected(format!("HTTP {status}")));
        }
        if content_type.starts_with(EVENT_STREAM) {
            let body = Limited::new(response.into_body(), MAX_STREAM_BYTES).map_err(std::io::Error::other);
            let events: Events = Box::pin(SseStream::new(body));
            return Ok(StreamableHttpPostResponse::Sse(events, new_session));
        }
        let body = collect(response.into_body(), MAX_BODY_BYTES).await?;
        match serde_json::from_slice(&body) {
            Ok(message) if content_type.starts_with(JSON) => {
                Ok(StreamableHttpPostResponse::Json(message, new_session))
            }
            // Notifications need no response, but some servers send one.
            _ if !expects_response => Ok(StreamableHttpPostResponse::Accepted),
            _ if content_type.starts_with(JSON) => Err(unexpected("no message of the protocol".to_owned())),
            _ => Err(HttpError::UnexpectedContentType(Some(content_type))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        self.0.delete_session(uri, session, bearer, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        self.0.get_stream(uri, session, last, bearer, headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        bearer: Option<String>,
        headers: Headers,
        max_event: usize,
    ) -> Result<Events, HttpError> {
        self.0.get_stream_with_max_sse_event_size(uri, session, last, bearer, headers, max_event).await
    }
}

async fn collect(body: reqwest::Body, max: usize) -> Result<bytes::Bytes, HttpError> {
    let read = Limited::new(body, max).collect().await;
    let read =
        read.map_err(|_| unexpected(format!("an answer that broke off, or has more than {max} bytes")))?;
    Ok(read.to_bytes())
}

/// The JSON-RPC error in an HTTP error response. A client error in response to `server/discover` is
/// one too: the server speaks an older revision.
fn error_message(
    status: StatusCode,
    body: &[u8],
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Option<ServerJsonRpcMessage> {
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return None;
    }
    let error = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let ClientJsonRpcMessage::Request(request) = message else {
        return error.map(ServerJsonRpcMessage::Error);
    };
    let is_discover = matches!(request.request, ClientRequest::DiscoverRequest(_));
    if is_discover && !in_session && status.is_client_error() {
        let default = || ErrorData::invalid_request(format!("HTTP {status}"), None);
        let error = error.map_or_else(default, |error| error.error);
        return Some(ServerJsonRpcMessage::error(error, Some(request.id.clone())));
    }
    error.map(ServerJsonRpcMessage::Error)
}

fn unexpected(what: String) -> HttpError {
    HttpError::UnexpectedServerResponse(what.into())
}
