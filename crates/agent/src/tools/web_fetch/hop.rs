//! One hop: a permit is spent for one HTTP request and its response, and the outcome is recorded.

use super::content_type::{self, ContentKind};
use super::error::{FetchError, excerpt};
use super::tls::server_name;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION,
    TRANSFER_ENCODING, USER_AGENT,
};
use http::{HeaderMap, HeaderName, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use picoclaw_policy::network::{Scheme, WebAddress};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::outbound::{Connect, Outbound, WaitEnded, WaitLimit};
use picoclaw_sandbox::permit::Permit;
use rustls::ClientConfig;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Limits of a response's head.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 128;

/// The response to one request.
#[derive(Debug)]
pub(super) enum HopResult {
    /// A redirect to this location, which may be relative.
    Redirect { status: u16, location: String },
    /// A text.
    Page { status: u16, kind: ContentKind, charset: Option<String>, body: Vec<u8> },
}

/// What a hop needs beside its permit.
pub(super) struct HopContext<'h> {
    pub(super) outbound: &'h Outbound,
    pub(super) wait_limit: &'h WaitLimit,
    pub(super) halt: &'h CancelToken,
    pub(super) max_body_bytes: u64,
    pub(super) tls_config: &'h dyn Fn() -> Result<Arc<ClientConfig>, FetchError>,
}

/// Sends one request and reads its response.
pub(super) fn fetch(
    permit: Permit<Connect>,
    address: &WebAddress,
    context: &HopContext<'_>,
) -> Result<HopResult, FetchError> {
    let tls = match address.scheme() {
        Scheme::Http => None,
        Scheme::Https => Some((TlsConnector::from((context.tls_config)()?), server_name(address)?)),
    };
    let connection = context.outbound.connect(permit, context.wait_limit)?;
    let exchange = async {
        let stream =
            connection.socket().and_then(TcpStream::from_std).map_err(|error| FetchError::from(&error))?;
        match tls {
            None => exchange(stream, address, context.max_body_bytes).await,
            Some((connector, name)) => {
                let stream =
                    connector.connect(name, stream).await.map_err(|error| FetchError::from(&error))?;
                exchange(stream, address, context.max_body_bytes).await
            }
        }
    };
    let result = run_until_stopped(exchange, context);
    let outcome = match &result {
        Ok(HopResult::Redirect { status, .. }) => format!("status {status}"),
        Ok(HopResult::Page { status, body, .. }) => format!("status {status}, {} bytes", body.len()),
        Err(error) => error.to_string(),
    };
    connection.close(&outcome);
    result
}

/// Runs `exchange` to its end, to the deadline, or until the call is cancelled. Tools run on
/// blocking threads, so a hop has a runtime of its own; the task of its connection ends with it.
fn run_until_stopped(
    exchange: impl Future<Output = Result<HopResult, FetchError>>,
    context: &HopContext<'_>,
) -> Result<HopResult, FetchError> {
    let left = context.wait_limit.left()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| FetchError::from(&error))?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = context.halt.cancelled() => Err(WaitEnded::Cancelled.into()),
            result = tokio::time::timeout(left, exchange) => result.unwrap_or(Err(WaitEnded::Deadline.into())),
        }
    })
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    address: &WebAddress,
    max_body_bytes: u64,
) -> Result<HopResult, FetchError> {
    let (mut sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    // Errors of the connection are also those of the request or of its body.
    tokio::spawn(connection);
    let response = sender.send_request(request(address)?).await?;
    let status = response.status();
    let headers = response.headers();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(FetchError::NotHttp("it switches to another protocol"));
    }
    if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && headers.contains_key(LOCATION) {
        let malformed = FetchError::NotHttp("where it redirects to is malformed");
        let location = text(headers, &LOCATION).ok_or(malformed)?.to_owned();
        return Ok(HopResult::Redirect { status: status.as_u16(), location });
    }
    let (kind, charset) = content_type::parse(text(headers, &CONTENT_TYPE).unwrap_or_default())?;
    check_encodings(headers)?;
    let has_length = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
    let body = read_body(response.into_body(), has_length, max_body_bytes).await?;
    Ok(HopResult::Page { status: status.as_u16(), kind, charset, body })
}

/// The request: no cookie, no credentials, no referrer.
fn request(address: &WebAddress) -> Result<Request<Empty<Bytes>>, FetchError> {
    Request::get(address.path_and_query())
        .header(HOST, address.authority())
        .header(USER_AGENT, concat!("picoclaw/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "text/html, application/json, text/*;q=0.9, */*;q=0.1")
        .header(ACCEPT_ENCODING, "identity")
        .header(CONNECTION, "close")
        .body(Empty::new())
        .map_err(|error| FetchError::Io(error.to_string()))
}

/// Refuses compressed content: no decompression, no decompression bombs.
fn check_encodings(headers: &HeaderMap) -> Result<(), FetchError> {
    let is_chunked = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    if !headers.get_all(TRANSFER_ENCODING).iter().all(is_chunked) {
        return Err(FetchError::NotHttp("its transfer encoding is not known"));
    }
    match text(headers, &CONTENT_ENCODING) {
        Some(coding) if !coding.eq_ignore_ascii_case("identity") => {
            Err(FetchError::Compressed(excerpt(coding)))
        }
        _ => Ok(()),
    }
}

/// The first header of that name, as text.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).map(str::trim)
}

async fn read_body(mut body: Incoming, has_length: bool, max_bytes: u64) -> Result<Vec<u8>, FetchError> {
    if body.size_hint().lower() > max_bytes {
        return Err(FetchError::TooLarge(max_bytes));
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame.map_err(FetchError::from) {
            Ok(frame) => bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            // Many servers close without TLS's `close_notify`; a body without a length ends there
            // all the same.
            Err(FetchError::CutOff) if !has_length => break,
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > max_bytes {
            return Err(FetchError::TooLarge(max_bytes));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// What a server that answers with `answer` and hangs up comes to, and the request that it got.
    fn answer_and_request(answer: &[u8], limit: u64) -> (Result<(u16, String), String>, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(1 << 20);
            let address = WebAddress::parse("http://a.example:8080/b c?d#e").unwrap();
            let answer = answer.to_vec();
            let server = tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(theirs.read_u8().await.unwrap());
                }
                theirs.write_all(&answer).await.unwrap();
                request
            });
            let result = match exchange(ours, &address, limit).await {
                Ok(HopResult::Page { status, body, .. }) => Ok((status, String::from_utf8(body).unwrap())),
                Ok(redirect) => panic!("{redirect:?}"),
                Err(error) => Err(error.to_string()),
            };
            (result, String::from_utf8(server.await.unwrap()).unwrap())
        })
    }

    fn answer(text: &[u8], limit: u64) -> Result<(u16, String), String> {
        answer_and_request(text, limit).0
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        for (why, text, want) in [
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", Ok((200, "hi"))),
            (
                "more than was announced",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi, and more",
                Ok((200, "hi")),
            ),
            ("less", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", Err("the response was cut off")),
            ("to the end", "HTTP/1.0 404 Not Found\r\n\r\ngone", Ok((404, "gone"))),
            ("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", Ok((200, "hi"))),
            (
                "chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\n, y\r\n0\r\n\r\n",
                Ok((200, "hi, y")),
            ),
            (
                "chunks win over a length",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                Ok((200, "hi")),
            ),
            (
                "chunks without an end",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
                Err("the response was cut off"),
            ),
            (
                "a chunk cut off",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi",
                Err("the response was cut off"),
            ),
            (
                "a chunk of nonsense",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nhi\r\n",
                Err("the response is not HTTP: a chunk is malformed"),
            ),
            (
                "a chunk too large for any number",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhi",
                Err("the response is not HTTP: a chunk is malformed"),
            ),
            (
                "a chunk that is longer than it says",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhi\r\n",
                Err("the response is not HTTP: a chunk is malformed"),
            ),
            (
                "another transfer encoding",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                Err("the response is not HTTP: its transfer encoding is not known"),
            ),
            (
                "interim answers",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
                Ok((204, "")),
            ),
            (
                "another protocol",
                "HTTP/1.1 101 Switching\r\n\r\n",
                Err("the response is not HTTP: it switches to another protocol"),
            ),
            (
                "two lengths that agree",
                "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi",
                Ok((200, "hi")),
            ),
            (
                "two that do not",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
                Err("the response is not HTTP: its head is malformed"),
            ),
            (
                "a signed length",
                "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi",
                Err("the response is not HTTP: its head is malformed"),
            ),
            (
                "a length beyond the limit, before a byte is read",
                "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
                Err("failed to read response: size exceeded 100 bytes limit"),
            ),
            (
                "compressed",
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
                Err("the response is compressed (`gzip`), which was not requested and is not supported"),
            ),
            ("nothing", "", Err("the response was cut off")),
            (
                "no head",
                "220 mail.example ESMTP\r\n\r\n",
                Err("the response is not HTTP: its head is malformed"),
            ),
            ("half a head", "HTTP/1.1 200 OK\r\nContent-Le", Err("the response was cut off")),
        ] {
            let want = want.map(|(status, body)| (status, body.to_owned())).map_err(str::to_owned);
            assert_eq!(answer(text.as_bytes(), 100), want, "{why}");
        }
    }

    #[test]
    fn every_part_of_an_answer_is_bounded() {
        let too_large = Err("failed to read response: size exceeded 100 bytes limit".to_owned());
        let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101));
        assert_eq!(answer(long.as_bytes(), 100), too_large, "a body without a length");
        let many =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "2\r\nxx\r\n".repeat(60));
        assert_eq!(answer(many.as_bytes(), 100), too_large, "many small chunks");
        let too_long = Err("the response is not HTTP: its head is too long".to_owned());
        let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
        assert_eq!(answer(head.as_bytes(), 100), too_long, "a long header");
        let headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200));
        assert_eq!(answer(headers.as_bytes(), 100), too_long, "many headers");
        let line =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;{}\r\nhi", "x".repeat(70_000));
        let malformed = Err("the response is not HTTP: a chunk is malformed".to_owned());
        assert_eq!(answer(line.as_bytes(), 100), malformed, "a long chunk extension");
    }

    #[test]
    fn a_request_says_what_it_wants_and_who_nobody_is() {
        let (_, request) = answer_and_request(b"", 100);
        assert!(request.starts_with("GET /b%20c?d HTTP/1.1\r\nHost: a.example:8080\r\n"), "{request}");
        for absent in ["Cookie", "Authorization", "Referer", "gzip"] {
            assert!(!request.contains(absent), "{absent}");
        }
        assert_eq!(request.matches("\r\n\r\n").count(), 1);
    }
}
