//! One HTTP endpoint of a model. A key goes to the configured origin alone, through the configured
//! proxy alone.

use crate::providers::model_error::ModelError;
use crate::providers::provider::{ErrorClass, ProviderError};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use picoclaw_policy::config::ModelConfig;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Proxy, Response, Url};
use serde_json::Value;
use std::error::Error;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

/// The largest response.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Redirects within one origin.
const MAX_REDIRECTS: usize = 3;

/// An address with the headers of its requests.
pub(in crate::providers) struct Endpoint {
    url: Url,
    headers: HeaderMap,
    proxy: Option<Proxy>,
    pub(super) timeout: Duration,
    /// Made with the first request: loading the platform's certificates takes time.
    client: Mutex<Option<Client>>,
}

impl Endpoint {
    /// The address `base` + `path`, with the headers of the wire format, overridden by those of the
    /// entry.
    pub(in crate::providers) fn new(
        entry: &ModelConfig,
        base: &str,
        path: &str,
        own: &[(&'static str, String)],
    ) -> Result<Self, ModelError> {
        let unusable = |why: String| ModelError::Unusable { name: entry.name.clone(), why };
        let url = address(base, path).map_err(unusable)?;
        let mut headers = HeaderMap::new();
        let agent =
            entry.user_agent.clone().unwrap_or_else(|| format!("PicoClaw/{}", env!("CARGO_PKG_VERSION")));
        let common = [("user-agent", agent), ("accept", "application/json, text/event-stream".to_owned())];
        let theirs =
            entry.custom_headers.iter().map(|(name, value)| (name.as_str(), value.reveal().to_owned()));
        for (name, value) in common.into_iter().chain(own.iter().cloned()).chain(theirs) {
            let key = HeaderName::try_from(name)
                .map_err(|_| unusable(format!("`{name}` is not a valid header name")))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| unusable(format!("the value of the header `{name}` cannot be sent")))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let proxy =
            match entry.proxy.as_ref().map(|proxy| proxy.reveal().trim()).filter(|proxy| !proxy.is_empty()) {
                // The error would show the address, which may hold a password.
                Some(proxy) => Some(
                    Proxy::all(proxy)
                        .map_err(|_| unusable("`proxy` is not the address of a proxy".to_owned()))?,
                ),
                None => None,
            };
        let timeout = Duration::from_secs(entry.request_timeout.max(1));
        Ok(Self { url, headers, proxy, timeout, client: Mutex::new(None) })
    }

    /// Sends a request; the body of the response may still stream.
    pub(super) async fn post(&self, body: &Value) -> Result<Response, ProviderError> {
        let sent = self.client()?.post(self.url.clone()).headers(self.headers.clone()).json(body).send();
        let response = sent.await.map_err(|why| self.connection_error("send", why))?;
        if response.status().is_redirection() {
            let text = format!(
                "the provider answered with a redirect (status {}), which is not followed; is `api_base` right?",
                response.status().as_u16()
            );
            return Err(ProviderError::new(ErrorClass::Malformed, text));
        }
        Ok(response)
    }

    /// The body of a response as it streams, up to its size limit.
    pub(super) fn chunks(
        &self,
        response: Response,
    ) -> impl Stream<Item = Result<Bytes, ProviderError>> + Send + '_ {
        let mut total = 0;
        response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| self.connection_error("read", error))?;
            total += chunk.len();
            if total > MAX_RESPONSE_BYTES {
                let text = format!(
                    "the provider's answer is larger than {} MiB and was cut off",
                    MAX_RESPONSE_BYTES >> 20
                );
                return Err(ProviderError::new(ErrorClass::Malformed, text));
            }
            Ok(chunk)
        })
    }

    /// The whole body of a response.
    pub(super) async fn read(&self, response: Response) -> Result<Vec<u8>, ProviderError> {
        let mut bytes = Vec::new();
        let mut chunks = pin!(self.chunks(response));
        while let Some(chunk) = chunks.next().await {
            bytes.extend_from_slice(&chunk?);
        }
        Ok(bytes)
    }

    /// The error for a timeout.
    pub(super) fn timed_out(&self) -> ProviderError {
        let seconds = self.timeout.as_secs();
        let text = format!("`{}` gave no answer within {seconds} s (`request_timeout`)", self.origin());
        ProviderError::new(ErrorClass::Timeout, text)
    }

    /// The hint for an address without its version.
    pub(super) fn hint(&self, status: u16) -> &'static str {
        match status {
            404 if !self.url.path().contains("/v1") => "\nhint: most servers want `api_base` to end in `/v1`",
            _ => "",
        }
    }

    fn client(&self) -> Result<Client, ProviderError> {
        let mut made = self.client.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(client) = &*made {
            return Ok(client.clone());
        }
        // Fails when one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(Policy::custom(within_one_origin))
            .connect_timeout(CONNECT_TIMEOUT.min(self.timeout))
            .read_timeout(self.timeout)
            .pool_max_idle_per_host(1);
        if self.url.scheme() == "http" && self.proxy.is_none() {
            builder = builder.tls_certs_only([]);
        }
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.clone());
        }
        let client = builder.build().map_err(|why| {
            let text = format!("no connection can be made: {}", root_cause(why));
            ProviderError::new(ErrorClass::Malformed, text)
        })?;
        *made = Some(client.clone());
        Ok(client)
    }

    fn connection_error(&self, verb: &str, why: reqwest::Error) -> ProviderError {
        let origin = self.origin();
        if why.is_timeout() {
            return self.timed_out();
        }
        if why.is_redirect() {
            let text = format!(
                "`{origin}` redirects to another origin, which is not followed: a key belongs to one; is `api_base` right?"
            );
            return ProviderError::new(ErrorClass::Malformed, text);
        }
        let what = match (verb, why.is_connect()) {
            (_, true) => format!("could not connect to `{origin}`"),
            ("send", _) => format!("`{origin}` broke off before it answered"),
            _ => format!("`{origin}` broke off in the middle of its answer"),
        };
        ProviderError::new(ErrorClass::Network, format!("{what}: {}", root_cause(why)))
    }

    /// Scheme, host and port: all that a message needs of an address.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// Follows redirects that keep method, body and origin.
fn within_one_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same = attempt.previous().last().is_some_and(|before| before.origin() == attempt.url().origin());
    if !same {
        return attempt.error("another origin");
    }
    match attempt.status().as_u16() {
        307 | 308 if attempt.previous().len() <= MAX_REDIRECTS => attempt.follow(),
        _ => attempt.stop(),
    }
}

/// `path` at the end of `base`, which may carry a query.
fn address(base: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|_| "`api_base` is not an address".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("`api_base` must begin with `http://` or `https://`".to_owned());
    }
    let stem = url.path().trim_end_matches('/').to_owned();
    if !stem.ends_with(path) {
        url.set_path(&format!("{stem}{path}"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// The innermost cause of an error.
fn root_cause(why: reqwest::Error) -> String {
    let why = why.without_url();
    let mut cause: &dyn Error = &why;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The wait that a provider asks for.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let millis = number("retry-after-ms").map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| number(header::RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_to_the_end_of_the_address() {
        for (why, base, want) in [
            ("plain", "http://h:1/v1", "http://h:1/v1/x/y"),
            ("with a slash", "http://h/v1/", "http://h/v1/x/y"),
            ("no path", "https://h", "https://h/x/y"),
            ("a query stays", "https://h/v1?api-version=2", "https://h/v1/x/y?api-version=2"),
            ("it is there already", "https://h/v1/x/y", "https://h/v1/x/y"),
        ] {
            assert_eq!(address(base, "/x/y").unwrap().as_str(), want, "{why}");
        }
        for base in ["", "h:1/v1", "file:///etc/passwd", "ftp://h", "http://"] {
            assert!(address(base, "/x").is_err(), "`{base}` is no address of a provider");
        }
    }

    #[test]
    fn a_time_to_come_back_is_read() {
        for (why, name, value, want) in [
            ("seconds", "retry-after", "7", Some(Duration::from_secs(7))),
            ("milliseconds", "retry-after-ms", "1500", Some(Duration::from_millis(1500))),
            ("in the past", "retry-after", "-1", None),
            ("no number", "retry-after", "soon", None),
            ("for ever", "retry-after", "inf", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(retry_after(&headers), want, "{why}");
        }
    }
}
