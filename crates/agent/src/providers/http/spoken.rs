//! A provider that speaks a dialect to a peer.
//!
//! A stream that fails before anything was seen is asked for once more as a whole: some servers cannot stream, or not
//! with tools.
//!
//! Invariant: one try makes at most two requests, and the second only when nothing of the first was seen.

use super::dialect::{Dialect, Mode, malformed};
use super::failure::{looks_like_a_page, told, whole_error};
use super::peer::{Peer, retry_after};
use super::stream;
use crate::providers::provider::{Answer, Class, Provider, ProviderError, Reading, Request, Sink};
use crate::providers::watched::{Seen, Watched};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::timeout;

/// A model at an address.
pub(in crate::providers) struct Spoken<D> {
    /// The name that agents ask for it by.
    pub(in crate::providers) name: String,
    pub(in crate::providers) peer: Peer,
    pub(in crate::providers) dialect: D,
    pub(in crate::providers) mode: Mode,
}

impl<D: Dialect> Provider for Spoken<D> {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> Reading<'a> {
        Box::pin(async move {
            if self.mode == Mode::Whole {
                return self.whole(request).await;
            }
            let mut watched = Watched::new(sink);
            match self.stream(request, &mut watched).await {
                Err(why) if watched.seen() == Seen::Nothing && may_be_the_stream(why.class) => {
                    tracing::debug!(target: "provider", model = %self.name, "Streaming failed; asking once more without");
                    // The first failure is the better explanation when this one fails as well.
                    self.whole(request).await.map_err(|_| why)
                }
                other => other,
            }
        })
    }
}

impl<D: Dialect> Spoken<D> {
    async fn whole(&self, request: &Request) -> Result<Answer, ProviderError> {
        let body = self.dialect.body(request, Mode::Whole);
        let answering = async {
            let response = self.good(self.peer.post(&body).await?).await?;
            let bytes = self.peer.read(response).await?;
            self.document(&bytes)
        };
        timeout(self.peer.timeout, answering).await.unwrap_or_else(|_| Err(self.peer.silent()))
    }

    async fn stream(&self, request: &Request, sink: &mut dyn Sink) -> Result<Answer, ProviderError> {
        let body = self.dialect.body(request, Mode::Stream);
        let beginning = async { self.good(self.peer.post(&body).await?).await };
        let beginning =
            timeout(self.peer.timeout, beginning).await.unwrap_or_else(|_| Err(self.peer.silent()));
        let response = beginning?;
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.contains("json") || kind.contains("html") {
            // Asked for a stream, answered with a document.
            let reading = timeout(self.peer.timeout, self.peer.read(response)).await;
            let bytes = reading.unwrap_or_else(|_| Err(self.peer.silent()))?;
            return self.document(&bytes);
        }
        stream::read(&self.peer, response, self.dialect.assembler(), sink).await
    }

    /// The response, if its status is a good one.
    async fn good(&self, response: Response) -> Result<Response, ProviderError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let after = retry_after(response.headers());
        // An error that breaks off or never ends is still an error of that status.
        let body = self.peer.read(response).await.unwrap_or_default();
        let mut why = told(status.as_u16(), after, &body);
        why.message.push_str(self.peer.hint(status.as_u16()));
        Err(why)
    }

    fn document(&self, bytes: &[u8]) -> Result<Answer, ProviderError> {
        let document: Value = serde_json::from_slice(bytes).map_err(|why| {
            let text = String::from_utf8_lossy(bytes);
            if looks_like_a_page(&text) {
                return malformed("it is a web page (HTML) instead of JSON; is `api_base` right?");
            }
            match text.trim() {
                "" => malformed("it is empty"),
                _ => malformed(format_args!("it is not JSON ({why})")),
            }
        })?;
        match whole_error(&document) {
            Some(why) => Err(why),
            None => self.dialect.whole(&document),
        }
    }
}

/// Failures that a request without streaming might not have.
fn may_be_the_stream(class: Class) -> bool {
    matches!(class, Class::Malformed | Class::Network | Class::Format | Class::Unknown)
}
