//! Watching over a request: when whoever asked is gone, what runs for it is halted.
//!
//! Invariant: the halt of a request is raised when its response is not wanted any more, and harmless after its end.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use picoclaw_sandbox::launch::Halt;
use rmcp::model::Extensions;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Raises its halt when it is dropped.
pub(super) struct Guard(Halt);

/// A request's halt, and its guard.
pub(super) fn over() -> (Halt, Guard) {
    let halt = Halt::new();
    (halt.clone(), Guard(halt))
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// The halt of the HTTP request that a message came in, if it came in one.
pub(in super::super) fn halt_of(extensions: &Extensions) -> Option<Halt> {
    extensions.get::<http::request::Parts>().and_then(|parts| parts.extensions.get::<Halt>()).cloned()
}

/// A response that is watched until it is wanted no more.
pub(super) struct Watched<B> {
    body: B,
    _guard: Guard,
}

impl<B> Watched<B> {
    pub(super) fn new(body: B, guard: Guard) -> Self {
        Self { body, _guard: guard }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Watched<B> {
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
