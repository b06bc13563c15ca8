//! Cancels what runs for an HTTP request when its client disconnects.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rmcp::model::Extensions;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The token of the HTTP request that carried a message; it is cancelled when the response is
/// dropped. A token that is never cancelled for messages from standard input.
pub(in super::super) fn disconnect_token(extensions: &Extensions) -> CancellationToken {
    let parts = extensions.get::<http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<CancellationToken>()).cloned().unwrap_or_default()
}

/// A response body that holds the guard of its request's token.
pub(super) struct GuardedBody<B> {
    body: B,
    _guard: DropGuard,
}

impl<B> GuardedBody<B> {
    pub(super) fn new(body: B, guard: DropGuard) -> Self {
        Self { body, _guard: guard }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for GuardedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
