//! Reads what a request carries: its body within size and time limits, and numbers of its query.

use super::response::{self, HttpResponse};
use crate::http_guard::BodyTimeout;
use http::header::CONTENT_LENGTH;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

/// The largest body.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Reads a JSON body; on failure the error response.
pub(super) async fn read_json<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, HttpResponse> {
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > MAX_BODY_BYTES as u64) {
        return Err(too_large());
    }
    let body = Limited::new(BodyTimeout::new(request.into_body()), MAX_BODY_BYTES);
    match body.collect().await {
        Ok(collected) => serde_json::from_slice(&collected.to_bytes()).map_err(|why| {
            response::error(StatusCode::BAD_REQUEST, &format!("the body is not what is expected: {why}"))
        }),
        Err(why) if why.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(response::error(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// The number that the query has under `name`.
pub(super) fn query_number(query: Option<&str>, name: &str) -> Option<u64> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
}

fn too_large() -> HttpResponse {
    response::error(StatusCode::PAYLOAD_TOO_LARGE, "the body has more than 4 MiB")
}
