//! A provider that sends one wire format to one endpoint.
//!
//! A stream that fails before any text is requested once more as a whole: some servers cannot
//! stream, or not with tools.

use super::endpoint::{Endpoint, retry_after};
use super::error_class::{from_document, from_response, is_html};
use super::stream;
use super::wire_format::{Mode, WireFormat, malformed};
use crate::providers::provider::{
    Answer, AnswerFuture, ErrorClass, Provider, ProviderError, Request, Sink, TrackingSink,
};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::timeout;

/// A model at an address.
pub(in crate::providers) struct HttpProvider<F> {
    /// The name of the model.
    pub(in crate::providers) name: String,
    pub(in crate::providers) endpoint: Endpoint,
    pub(in crate::providers) format: F,
    pub(in crate::providers) mode: Mode,
}

impl<F: WireFormat> Provider for HttpProvider<F> {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        Box::pin(async move {
            if self.mode == Mode::Whole {
                return self.whole(request).await;
            }
            let mut tracking = TrackingSink::new(sink);
            match self.stream(request, &mut tracking).await {
                Err(why) if !tracking.has_text() && may_work_without_stream(why.class) => {
                    tracing::debug!(target: "provider", model = %self.name, "Streaming failed; asking once more without");
                    // If this fails as well, the first error explains more.
                    self.whole(request).await.map_err(|_| why)
                }
                other => other,
            }
        })
    }
}

impl<F: WireFormat> HttpProvider<F> {
    async fn whole(&self, request: &Request) -> Result<Answer, ProviderError> {
        let body = self.format.body(request, Mode::Whole);
        let answer = async {
            let response = self.check_status(self.endpoint.post(&body).await?).await?;
            let bytes = self.endpoint.read(response).await?;
            self.parse(&bytes)
        };
        timeout(self.endpoint.timeout, answer).await.unwrap_or_else(|_| Err(self.endpoint.timed_out()))
    }

    async fn stream(&self, request: &Request, sink: &mut dyn Sink) -> Result<Answer, ProviderError> {
        let body = self.format.body(request, Mode::Stream);
        let response = async { self.check_status(self.endpoint.post(&body).await?).await };
        let response = timeout(self.endpoint.timeout, response)
            .await
            .unwrap_or_else(|_| Err(self.endpoint.timed_out()))?;
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.contains("json") || kind.contains("html") {
            // The server ignored the request for a stream.
            let reading = timeout(self.endpoint.timeout, self.endpoint.read(response)).await;
            let bytes = reading.unwrap_or_else(|_| Err(self.endpoint.timed_out()))?;
            return self.parse(&bytes);
        }
        stream::read(&self.endpoint, response, self.format.assembler(), sink).await
    }

    /// The response, if its status is a success.
    async fn check_status(&self, response: Response) -> Result<Response, ProviderError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let after = retry_after(response.headers());
        // An error whose body cannot be read is still an error of that status.
        let body = self.endpoint.read(response).await.unwrap_or_default();
        let mut why = from_response(status.as_u16(), after, &body);
        why.message.push_str(self.endpoint.hint(status.as_u16()));
        Err(why)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Answer, ProviderError> {
        let document: Value = serde_json::from_slice(bytes).map_err(|why| {
            let text = String::from_utf8_lossy(bytes);
            if is_html(&text) {
                return malformed("it is a web page (HTML) instead of JSON; is `api_base` right?");
            }
            match text.trim() {
                "" => malformed("it is empty"),
                _ => malformed(format_args!("it is not JSON ({why})")),
            }
        })?;
        match from_document(&document) {
            Some(why) => Err(why),
            None => self.format.parse(&document),
        }
    }
}

/// Failures that a request without streaming may not have.
fn may_work_without_stream(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Malformed | ErrorClass::Network | ErrorClass::Format | ErrorClass::Unknown)
}
