//! Reading a request's body.
//!
//! Invariant: no more than the bound is ever held, and a body that does not come in time is given up.

use super::answer::{self, Answer};
use crate::entrance::Timely;
use http::header::CONTENT_LENGTH;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

/// The most that a body may have.
pub(super) const MOST: usize = 4 << 20;

/// Reads a JSON body; the answer says why there is none.
pub(super) async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Answer> {
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > MOST as u64) {
        return Err(too_large());
    }
    let body = Limited::new(Timely::new(request.into_body()), MOST);
    match body.collect().await {
        Ok(collected) => serde_json::from_slice(&collected.to_bytes()).map_err(|why| {
            answer::error(StatusCode::BAD_REQUEST, &format!("the body is not what is expected: {why}"))
        }),
        Err(why) if why.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(answer::error(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

fn too_large() -> Answer {
    answer::error(StatusCode::PAYLOAD_TOO_LARGE, "the body has more than 4 MiB")
}
